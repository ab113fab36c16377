"""A site's keys in a run of another Flower app, and its checks of the run's sums.

A site's memory of a run is in Flower's ``Context.state``. A SuperNode may answer two messages at once, each in a
process that has the same state. So a site that is not simulated counts its sums and steps in a file, and answers none
twice.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Context

from clients.hospital import is_simulated
from flower_pansvm import records
from flower_pansvm.errors import NOT_FOLLOWED, SettingError, SumError
from flower_pansvm.files import lock
from flower_pansvm.log import logger
from flower_pansvm.private_folder import account_state, why_unusable
from flower_pansvm.records import Values
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import Member, SecureSum, SumRound
from flower_pansvm.secure_sum.identities import RunKeys, load_identity, sign
from flower_pansvm.secure_sum.refusals import Memory, admit
from flower_pansvm.summing import AllKeys, PublicKeys, as_bytes, keys_digest, signed_member
from flower_pansvm.terms import Scalar, Terms
from flower_pansvm.weighted_mean import ALL_KEYS, GROUP, KEYS, PROTOCOL, name_of

STATE = f"{GROUP}state"
"""The group of a site's state with its keys of the run and its memory of the sums."""

UNANSWERED = " unanswered"
"""How the note on the run's sums ends while the last one has no answer, or an error in place of one."""


@dataclass(frozen=True)
class RunMember:
    """A site in a run, of which the context has the state."""

    context: Context

    @property
    def name(self) -> str:
        """The site's name: from the node config, or made of the node's number."""
        return str(self.context.node_config.get("name", name_of(self.context.node_id)))

    def node_text(self, key: str) -> str:
        """Return the node config's value for a key; an empty text if there is none."""
        return str(self.context.node_config.get(key, ""))

    @property
    def joined(self) -> bool:
        """Whether it has joined this run: Flower hands the state on to the next run of a series."""
        stored = records.get(self.context.state, STATE)
        return bool(stored) and Memory.from_json(str(stored["memory"])).run == str(self.context.run_id)

    def join(self, config: Mapping[str, Scalar], protocol: SecureSum) -> PublicKeys:
        """Make the site's keys for the run, and return their public halves.

        A second call returns the same keys, as the first answer may have come too late: with new keys the site would
        forget which sums it has answered. SumError if the second protocol is another one.
        """
        if self.joined:
            if records.get(self.context.state, PROTOCOL) != dict(config):
                raise SumError(
                    f"Site '{self.name}' has joined this run with another protocol or other options. Give each "
                    "SecureAggregation of the ServerApp the same, and start a new run."
                )
            return records.read(self.context.state, KEYS, PublicKeys)
        run, key = str(self.context.run_id), X25519PrivateKey.generate()
        secret, published = protocol.prepare()
        public, signature = key.public_key().public_bytes_raw(), b""
        if identity := self.node_text("identity"):
            signature = sign(load_identity(Path(identity)), RunKeys(run, self.name, public, published))
        if not self.node_text("roster") and not is_simulated(self.context):
            logger.warning("the node config has no 'roster': the coordinator could hand out keys of its own")
        stored: Values = {
            "private": key.private_bytes_raw(),
            "secret": secret,
            "kept": b"",
            "task": "",
            "counted": "",
        }
        records.put(self.context.state, STATE, {**stored, "memory": Memory(run).to_json()})
        records.put(self.context.state, PROTOCOL, config)
        keys = PublicKeys(public, published, b"", signature)
        records.write(self.context.state, KEYS, keys)
        return keys

    def protocol(self) -> SecureSum:
        """Return the run's protocol, by which the site has joined; SumError if it has not."""
        if not self.joined:
            raise SumError(f"Site '{self.name}' has not joined this run. Start the run again.")
        return protocol_of(Terms.from_config(records.get(self.context.state, PROTOCOL)))

    def memory(self) -> tuple[Memory, bytes]:
        """Return the site's memory of its sums, and its state for the next step of the last one."""
        stored = records.get(self.context.state, STATE)
        return Memory.from_json(str(stored["memory"])), stored["kept"]

    def remember(self, memory: Memory, state: bytes, task: str = "", keys: AllKeys | None = None) -> None:
        """Note a sum that has been answered, with its task and keys, or a step of it."""
        stored = records.get(self.context.state, STATE)
        new = {"memory": memory.to_json(), "kept": state, "task": task or stored["task"]}
        records.put(self.context.state, STATE, {**stored, **new})
        if keys is not None:
            records.write(self.context.state, ALL_KEYS, keys)

    def admitted(self, sum_round: SumRound, public: Mapping[str, PublicKeys], min_sites: int) -> Memory:
        """Return the memory after a sum that the site may take part in; else SumError.

        Other than in this project's own runs, sites are sampled and others join later: a roster may be any that is
        large enough. The keys of each site have to stay the same for the run.
        """
        memory, published = self.memory()[0], as_bytes(public)
        pinned = {site: memory.keys.get(site, public.hex()) for site, public in published.items()}
        new = admit(replace(memory, roster=(), keys=pinned), sum_round, self.name, published, min_sites)
        return replace(new, keys={**memory.keys, **new.keys})

    def check_opening(self, over: tuple[str, ...], sum_round: SumRound, min_difference: int) -> None:
        """Raise a SumError if a sum is opened without some sites, unless ``min_difference`` is 1: see `count_up`."""
        if min_difference > 1 and over != sum_round.roster:
            raise SumError(
                f"Site '{self.name}' helps to open no sum without some of its sites, since another sum with them would "
                "reveal theirs (min_difference). Sites dropped out: wait for the next round."
            )

    def last_sum(self, round_trip: int) -> tuple[SumRound, Member]:
        """Return the last sum that the site has answered, for a step of it; SumError if the request is of another."""
        memory, _ = self.memory()
        if round_trip != memory.round_trip or not records.has(self.context.state, ALL_KEYS):
            raise SumError(
                f"Site '{self.name}' refuses a step of a sum it does not take part in. {NOT_FOLLOWED}"
            )
        task = str(records.get(self.context.state, STATE)["task"])
        return self.sum_of(records.read(self.context.state, ALL_KEYS, AllKeys).by_site(), round_trip, task)

    def sum_of(self, public: Mapping[str, PublicKeys], round_trip: int, task: str) -> tuple[SumRound, Member]:
        """Return a sum and this site's part in it, after a check of the others' signatures if it has a roster file."""
        run, stored = str(self.context.run_id), records.get(self.context.state, STATE)
        member = signed_member(self.name, run, stored, self.node_text("roster"), public)
        return SumRound(run, task, round_trip, 0, tuple(public), keys_digest(as_bytes(public))), member

    def count_up(self, sum_round: SumRound, step: int, min_difference: int) -> None:
        """Note the number of a sum and step before the answer, and the sites of the run's first sum.

        SettingError if it cannot be written. SumError unless it comes after the last one noted and, with a
        ``min_difference`` above 1, is over the sites of the first sum and over at least so many, and the last sum was
        `answered`.

        Where all sites have such a minimum, the coordinator learns a sum over these sites and over no part of them: a
        sum needs the answers of all its sites (`check_opening`), and each site answers for one set. So the sets of a
        run do not overlap, and no sum can be subtracted from another. A rule by the differences of the sums that a site
        takes part in would not do: it does not know the others, over one half of the sites and over the other half.

        An error in place of an answer tells of this site alone, for instance that a number is above the bound. From
        weights or rates of its choice a coordinator would find the number. So a site has one such error in a run.
        """
        self._rewrite(lambda noted: self._counted(noted, sum_round, step, min_difference))

    def answered(self, min_difference: int) -> None:
        """Note, where it matters, that the last sum has an answer without an error; SettingError as in `count_up`."""
        if min_difference > 1:
            self._rewrite(lambda noted: noted.removesuffix(UNANSWERED))

    def _rewrite(self, change: Callable[[str], str]) -> None:
        """Change the note on the run's sums: in the state of a simulated site, else in a file."""
        if is_simulated(self.context):
            stored = records.get(self.context.state, STATE)
            records.put(self.context.state, STATE, {**stored, "counted": change(str(stored["counted"]))})
            return
        state = self.node_text("state")
        folder = Path(os.path.expanduser(state)) if state else account_state() / "sums"
        problem = why_unusable(folder)
        try:
            if not problem:
                self._rewrite_in(folder, change)
        except OSError as error:
            problem = f"cannot be used ({type(error).__name__})"
        if problem:
            raise SettingError(
                f"Site '{self.name}' cannot write the numbers of answered sums: its state folder {problem}. Write "
                "state='/an/absolute/path' into its node config: a folder of this SuperNode's account."
            )

    def _rewrite_in(self, folder: Path, change: Callable[[str], str]) -> None:
        """Change the note in a file; no other process can in the meantime."""
        path = folder / f"{self.context.run_id}-{self.context.node_id}.sums"
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            lock(file, wait=True)
            noted = change(file.read())
            file.seek(0)
            file.write(noted)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def _counted(self, noted: str, sum_round: SumRound, step: int, min_difference: int) -> str:
        """Return the note to keep after a sum or step; SumError if the site refuses it."""
        last_trip, last_step, *first = noted.removesuffix(UNANSWERED).split() or ("0", "0")
        if (sum_round.round_trip, step) <= (int(last_trip), int(last_step)):
            raise SumError(
                f"Site '{self.name}' refuses a sum or step that it has answered, or answers now. {NOT_FOLLOWED}"
            )
        if min_difference > 1 and noted.endswith(UNANSWERED):
            raise SumError(
                f"Site '{self.name}' refuses the sum, since it has not answered the last one: it still works on it, or "
                "had an error, by which a coordinator could search for this site's numbers (min_difference). Look "
                "into the site's log, and start a new run."
            )
        sites = hashlib.sha256(json.dumps(sum_round.roster).encode()).hexdigest()
        if min_difference > 1 and (first not in ([], [sites]) or len(sum_round.roster) < min_difference):
            raise SumError(
                f"Site '{self.name}' refuses the sum: it is over fewer sites than {min_difference}, or over others "
                "than the run's first sum, and the difference of two sums reveals that of few sites (min_difference). "
                "Have the strategy choose all sites in each round, and set min_available_nodes to their number."
            )
        note = f"{sum_round.round_trip:020d} {step:020d} {first[0] if first else sites}"
        return note + UNANSWERED if min_difference > 1 and not step else note
