"""A site's part in the secure sums: its keys, its checks of a sum, and its state between steps.

Without a roster file the site takes the others' keys as the coordinator first hands them out. With one
(``identity`` and ``roster`` in the node config) it signs its own keys and believes no unsigned ones, so the
coordinator cannot stand in the middle. What it refuses is a SumError.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import RecordDict

from clients.cache import cached
from clients.hospital import Hospital
from clients.ledger.epochs import receive_epochs
from clients.ledger.ledger import EPOCH
from clients.policy import warn_of_risks
from flower_pansvm import records
from flower_pansvm.errors import NOT_FOLLOWED, SumError
from flower_pansvm.secure_sum.contract import Member, SecureSum, SumRound
from flower_pansvm.secure_sum.refusals import Memory, admit, admit_opening
from flower_pansvm.summing import (
    AllKeys,
    PublicKeys,
    RelayStep,
    WhichSum,
    as_bytes,
    keys_digest,
    signed_member,
)
from flower_pansvm.tasks import Task, bounds_of, sum_name

KEYS = "keys"
ALL_KEYS = "keys of all"
STATE = "sums"
WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Participation:
    """A site's part in one secure sum."""

    protocol: SecureSum
    sum_round: SumRound
    member: Member  # this site's keys and the others' public keys
    bounds: dict[str, float]  # largest absolute value any site may hold, for each result; infinite if unknown
    memory: Memory  # the site's memory after its answer


def join_run(hospital: Hospital, epochs: bytes) -> PublicKeys:
    """Make this site's keys for the run, private halves into its state, and return the public ones.

    ``epochs`` are those of its ledger. A second time it refuses: new keys would make it forget which sums
    it has answered.
    """
    if not hospital.simulated:
        warn_of_risks(hospital.policy, hospital.terms)
    if records.has(hospital.state, KEYS):
        raise SumError(f"Site '{hospital.name}' has joined this run already. Start a new run.")
    key = X25519PrivateKey.generate()
    secret, published = hospital.protocol.prepare()
    records.put(hospital.state, KEYS, {"private": key.private_bytes_raw(), "secret": secret})
    public_key = key.public_key().public_bytes_raw()
    signature = b""
    if hospital.policy.identity:
        from flower_pansvm.secure_sum.identities import RunKeys, load_identity, sign  # noqa: PLC0415 - others need none

        identity = load_identity(Path(hospital.policy.identity))
        signature = sign(
            identity, RunKeys(str(hospital.run_id), hospital.name, public_key, published, epochs)
        )
    remember(hospital, Memory(run=str(hospital.run_id), settings=hospital.terms.digest), b"")
    return PublicKeys(public_key, published, epochs, signature)


def check_member(hospital: Hospital) -> None:
    """Check that the site has joined this run, with these settings, and has not withdrawn; else SumError."""
    if records.has(hospital.state, WITHDRAWN):
        raise SumError(
            f"Site '{hospital.name}' has reported an error in this run and answers nothing more. Start a new run."
        )
    _remembered_sums(hospital)


def take_part(
    hospital: Hospital, content: RecordDict, task: Task[Any, Any], question: object
) -> Participation:
    """Check a request for a secure sum and return the site's participation in it.

    The request has a question, groups ``sum``, ``broadcast.NAME`` and, in the first sum of a run, ``keys``. The site
    refuses for a reason of :func:`flower_pansvm.secure_sum.refusals.admit`, or because the request is not the one that
    the sum is named after.
    """
    memory, _ = _remembered_sums(hospital)
    sum_round, member, public = _requested_sum(hospital, content)
    least = hospital.least_sites
    if task.dp:
        # The promise rests on the noise of as many sites, whichever drop out.
        least = max(least, len(sum_round.roster) - hospital.terms.colluders)
    memory = admit(memory, sum_round, member.name, as_bytes(public), least)
    inputs, broadcasts = records.values_of(question), hospital.broadcast_digests(content)
    bounds = bounds_of(task, question, hospital.terms, len(sum_round.roster))
    if sum_round.task != sum_name(task, inputs, bounds, broadcasts, hospital.terms.digest):
        raise SumError(
            f"Site '{hospital.name}' received another request for task '{task.name}' than the coordinator claims to "
            f"send to all sites, or has another run config. {NOT_FOLLOWED}"
        )
    if records.has(content, "keys"):
        if records.has(hospital.state, EPOCH):
            receive_epochs(hospital, {peer: keys.epochs for peer, keys in public.items()})
        records.write(hospital.state, ALL_KEYS, AllKeys.of(public))
    return Participation(hospital.protocol, sum_round, member, bounds, memory)


def remember(hospital: Hospital, memory: Memory, step_state: bytes) -> None:
    """Note that a sum has been answered, and the state for its later steps; nothing can fail after this."""
    records.put(hospital.state, STATE, {"memory": memory.to_json(), "kept": step_state})


def withdraw(hospital: Hospital) -> None:
    """Answer no further task of this run.

    An error says something about this site's rows alone, for instance that they are too few. One such answer ends a
    run; with further requests a coordinator could find out more.
    """
    records.put(hospital.state, WITHDRAWN, {})


def take_step(hospital: Hospital, content: RecordDict) -> bytes:
    """Answer a relay step of the last sum this site took part in; groups ``sum`` and ``step``."""
    memory, step_state = _remembered_sums(hospital)
    sum_round, member, _ = _requested_sum(hospital, content)
    last = memory.round_trip, memory.attempt, memory.roster
    if (sum_round.round_trip, sum_round.attempt, sum_round.roster) != last:
        raise SumError(
            f"Site '{hospital.name}' refuses a step of a sum that it does not take part in. A message came "
            "late or was repeated; repeat the sum under a new attempt."
        )
    step = records.read(content, "step", RelayStep)
    protocol = hospital.protocol
    if protocol.survives:
        over = protocol.opened_over(step.payload, sum_round)
        memory = admit_opening(memory, sum_round, hospital.name, over)
    answer, step_state = protocol.respond(step.step, step.payload, step_state, sum_round, member)
    remember(hospital, memory, step_state)
    return answer


def _requested_sum(hospital: Hospital, content: RecordDict) -> tuple[SumRound, Member, dict[str, PublicKeys]]:
    """Return the sum that a request is about, this site's keys in it, and each site's public keys, by site name.

    The public ones are what :func:`join_run` returned at each site, as the coordinator hands it on; the signatures are
    checked.
    """
    handed_out = content if records.has(content, "keys") else hospital.state
    group = "keys" if handed_out is content else ALL_KEYS
    if not records.has(handed_out, group):
        raise SumError(
            f"Site '{hospital.name}' has not received the keys of the other sites. Its node was started again during "
            "the run, or the coordinator runs another version of flower-pansvm. Start the run again."
        )
    keys = records.read(handed_out, group, AllKeys)
    public = cached((AllKeys, keys.sites, keys.octets.tobytes()), keys.by_site)
    request, run = records.read(content, "sum", WhichSum), str(hospital.run_id)
    left_out, digest = set(request.left_out), keys_digest(as_bytes(public))
    roster = tuple(name for name in public if name not in left_out)
    own_keys, trusted = records.get(hospital.state, KEYS), hospital.policy.roster
    member = signed_member(hospital.name, run, own_keys, trusted, public)
    return SumRound(run, request.task, request.round_trip, request.attempt, roster, digest), member, public


def _remembered_sums(hospital: Hospital) -> tuple[Memory, bytes]:
    """Return the memory that :func:`remember` has kept; SumError if the site has not joined with these settings."""
    state = records.get(hospital.state, STATE)
    if not state:
        raise SumError(f"Site '{hospital.name}' has not joined this run. Start the run again.")
    memory = Memory.from_json(str(state["memory"]))
    if memory.settings != hospital.terms.digest:
        raise SumError(
            f"The settings of the run are not those that site '{hospital.name}' has joined it with. Start anew."
        )
    return memory, cast(bytes, state["kept"])
