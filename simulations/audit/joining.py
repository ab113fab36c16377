"""Joining: keys, and the names of columns and classes. No number of a row is in them."""

from flower_pansvm.systems.common import JOIN
from simulations.audit.phase import PHASES, Phase


@PHASES.register("joining")
class JoiningAudit(Phase):
    """Looked at, and found to be about no row. Whether a label is a name of a patient the sites check themselves."""

    tasks = (JOIN.name,)
