"""A site's state between two relay steps of a sum, labelled with sum and step."""

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.keys import sum_context
from flower_pansvm.secure_sum.tags import join_fields


def save_step_state(sum_round: SumRound, step: int, secret: bytes) -> bytes:
    """Return the state to keep until relay step ``step`` of this sum."""
    return _label(sum_round, step) + secret


def load_step_state(state: bytes, sum_round: SumRound, step: int, site: str) -> bytes:
    """Return the secret that was saved for relay step ``step`` of this sum; SumError if none was, or it was used."""
    label = _label(sum_round, step) if step >= 0 else b""
    if step < 0 or not state.startswith(label):
        raise SumError(
            f"Site {site!r} refuses step {step} of a secure sum: it was done already, is not this site's turn, "
            "or belongs to another sum. A message was repeated or reordered; repeat the sum under a new attempt."
        )
    return state[len(label) :]


def _label(sum_round: SumRound, step: int) -> bytes:
    return join_fields(sum_context(sum_round), step.to_bytes(8, "big"))
