"""One table in several folders, studies, machines and backups: one budget, or a refusal that says what to do."""

import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message, RecordDict

from clients.app import app
from clients.budget import end_copy, end_ledger, new_ledger
from clients.gate.private import privately
from clients.hospital import Hospital
from clients.ledger import lasting_split
from clients.ledger import ledger as budget
from clients.ledger.epochs import HEARD_FILE, enter_run, receive_epochs
from clients.ledger.home import tables_home
from clients.ledger.ledger import EPOCH, read_ledger
from clients.ledger.tables import link_table
from clients.site import Site
from clients.systems.common import join
from clients.systems.dp_svm import private_bins
from clients.table.reading import read_table
from flower_pansvm import records
from flower_pansvm.errors import BudgetError, SettingError, SumError, TableError
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.summing import EPOCH_BYTES, AllKeys
from flower_pansvm.systems.common import JoinQuestion, SchemaBroadcast
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, BinsQuestion
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.dp_svm.strategy import DpSvm
from strategies.registry import STRATEGIES
from strategies.settings import make_settings
from tests.conftest import write_identities
from tests.contexts import own_hospital
from tests.grids import meddle

NAMES = ("hospital0", "hospital1", "hospital2")


@dataclass
class Hospitals:
    """Three hospitals of one machine, with identities, a roster and a budget each."""

    folder: Path
    nodes: list[dict[str, Scalar]]
    runs: int = 0

    @property
    def state(self) -> Path:
        """State folder of the first one."""
        return Path(str(self.nodes[0]["state"]))

    def train(self, change: Callable[[Message], None] = lambda _: None) -> None:
        """Have a coordinator spend a tenth of the budget in one run, perhaps after changing what it hands out."""
        self.runs += 1
        schema = str(self.folder / "schema.toml")
        settings = make_settings(strategy="dp-svm", sites=3, epsilon=0.3, steps=0, schema=schema)
        self.grid = meddle(InProcessGrid(app, self.nodes, settings.to_config(), self.runs), change)
        DpSvm(settings).start(self.grid)

    def second_folder(self) -> None:
        """Make another state folder and another identity for the first hospital: `pansvm hospital init` once more."""
        new = self.folder / f"second state {self.runs}"
        new_ledger(new, 0.2)
        self.nodes[0] |= {"state": str(new), "identity": str(self.folder / f"second {self.runs}.pem")}
        public = create_identity(Path(str(self.nodes[0]["identity"])))
        roster = self.folder / "roster.json"
        lines = roster.read_text().splitlines()
        roster.write_text(
            "\n".join(f'"hospital0": "{public}",' if "hospital0" in one else one for one in lines)
        )

    def save(self, name: str) -> None:
        """Copy what the first hospital keeps: its state folder and its table's ledger."""
        shutil.copytree(self.state, self.folder / name / "state")
        shutil.copytree(self.ledger, self.folder / name / "ledger")

    def restore(self, name: str, *, state: bool = True) -> None:
        """Put back a copy: an older backup, or what another machine has."""
        places = {"ledger": self.ledger, **({"state": self.state} if state else {})}
        for part, place in places.items():
            shutil.rmtree(place)
            shutil.copytree(self.folder / name / part, place)

    @property
    def ledger(self) -> Path:
        return tables_home() / budget.read_link(self.state).table

    def private_answers(self) -> int:
        """Return how many private answers of the first hospital have left in the last run."""
        return sum(
            reply.has_content() and "private" in reply.metadata.message_type
            for reply in self.grid.replies
            if reply.metadata.src_node_id == 2
        )


@pytest.fixture
def hospitals(tmp_path: Path) -> Hospitals:
    draw, nodes, schema = np.random.default_rng(0), list[dict[str, Scalar]](), tmp_path / "schema.toml"
    schema.write_text("classes = [0, 1]\ncolumns.age.range = [0, 99]\ncolumns.dose.range = [-4, 4]\n")
    for name, identity in zip(NAMES, write_identities(tmp_path, NAMES), strict=True):
        frame = pd.DataFrame({"age": draw.integers(20, 90, 600), "dose": draw.normal(size=600).round(3)})
        frame.assign(label=(frame["dose"] > 0).astype(int)).to_csv(tmp_path / f"{name}.csv", index=False)
        new_ledger(tmp_path / f"state {name}", 0.2)
        own = {"data": tmp_path / f"{name}.csv", "state": tmp_path / f"state {name}", "schema": schema}
        budget: dict[str, Scalar] = {"epsilon": 1.0, "delta": 1e-5, "min-cluster": 2}
        nodes.append({"name": name, **{key: str(path) for key, path in own.items()}, **identity, **budget})
    return Hospitals(tmp_path, nodes)


@pytest.mark.slow
def test_a_second_folder_on_the_table_shares_budget_and_split(
    hospitals: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, real = [], lasting_split.record_digests

    def spy(*arguments: object) -> object:
        kept.append(real(*arguments))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(lasting_split, "record_digests", spy)
    first = hospitals.state
    hospitals.train()
    spent = read_ledger(first).spent("train")
    for _ in range(2):
        hospitals.second_folder()
        hospitals.train()
    assert read_ledger(hospitals.state).spent("train") == pytest.approx(3 * spent)
    assert read_ledger(first) == read_ledger(hospitals.state)
    assert len(sorted(tables_home().glob("*/"))) == 3
    assert all(any(np.array_equal(one, other) for other in kept[:3]) for one in kept)
    hospitals.nodes[0]["epsilon"] = 0.5
    hospitals.second_folder()
    with pytest.raises(BudgetError, match="enough"):
        hospitals.train()
    assert hospitals.private_answers() == 0


def test_a_column_that_is_added_moves_no_row_to_the_other_side(hospitals: Hospitals) -> None:
    """The columns of the schema decide what a run sees; here the hospital has none of its own."""
    table = read_table(Path(str(hospitals.nodes[0]["data"])))
    link_table(hospitals.state, table)
    ledger = read_ledger(hospitals.state)
    wider = replace(
        table,
        columns=("new", *table.columns),
        X=np.column_stack([np.arange(len(table.X)), table.X]),
    )
    assert link_table(hospitals.state, wider) == ledger
    before, after = (
        lasting_split.lasting_split(hospitals.state, one, 0.2).held_out for one in (table, wider)
    )
    assert np.array_equal(before, after)
    assert 0.1 < before.mean() < 0.3


@pytest.mark.parametrize("state", [True, False], ids=["all", "only the ledgers"])
@pytest.mark.parametrize("latest", [True, False], ids=["the latest is put back", "the budget is ended"])
@pytest.mark.slow
def test_an_older_backup_and_a_second_machine_that_lags_count_as_spent(
    latest: bool, state: bool, hospitals: Hospitals
) -> None:
    hospitals.train()
    hospitals.save("backup")
    hospitals.train()
    hospitals.save("latest")
    hospitals.restore("backup", state=state)
    charges = read_ledger(hospitals.state).charges
    # Also when it is tried again, and its number of runs has caught up.
    for _ in range(3):
        with pytest.raises(BudgetError, match="latest"):
            hospitals.train()
        assert hospitals.private_answers() == 0
    assert read_ledger(hospitals.state).charges == charges
    hospitals.restore("latest", state=state) if latest else end_ledger(hospitals.state)
    hospitals.train()
    assert hospitals.private_answers() > 0
    assert len(read_ledger(hospitals.state).ended) == (0 if latest else 1)


def other_share(hospitals: Hospitals) -> None:
    hospitals.second_folder()
    new_ledger(hospitals.state, 0.3)


def other_table(hospitals: Hospitals) -> None:
    file = str(hospitals.nodes[0]["data"])
    pd.read_csv(file).assign(dose=np.random.default_rng(5).normal(size=600)).to_csv(file, index=False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other_share, "--test-fraction"),
        (other_table, "not those of the ledger"),
        (lambda _: shutil.rmtree(tables_home()), "spent"),
    ],
    ids=["another share for evaluation", "another table", "a copied folder without the ledgers"],
)
@pytest.mark.slow
def test_what_does_not_fit_the_ledger_is_refused(
    change: Callable[[Hospitals], None], told: str, hospitals: Hospitals
) -> None:
    hospitals.train()
    change(hospitals)
    with pytest.raises(BudgetError, match=told):
        hospitals.train()
    assert hospitals.private_answers() == 0


@pytest.mark.parametrize("level", ["exact", "perturbed", "dp"])
@pytest.mark.slow
def test_two_tables_budgets_that_were_exchanged_are_refused_at_each_level(
    level: str, hospitals: Hospitals
) -> None:
    """Also by hospitals that have met nobody who remembers: at level dp the others' epochs tell the same."""
    for node in hospitals.nodes:
        node |= {"privacy": level, "noise": 0.25}
    own, other = (Path(str(node["state"])) for node in hospitals.nodes[:2])
    hospitals.train()
    files = [tables_home() / budget.read_link(state).table / budget.LEDGER_FILE for state in (own, other)]
    texts = [file.read_text() for file in files]
    for file, text in zip(files, reversed(texts), strict=True):
        file.write_text(text)
    for node in hospitals.nodes:
        (Path(str(node["state"])) / HEARD_FILE).unlink()
    strategy = "dp-svm" if level == "dp" else "pan-svm"
    settings = make_settings(
        strategy=strategy, sites=3, privacy=level, schema=str(hospitals.folder / "schema.toml")
    )
    grid = InProcessGrid(app, hospitals.nodes, settings.to_config(), 2)
    with pytest.raises(BudgetError, match="another table"):
        STRATEGIES[settings.strategy](settings).start(grid)


@pytest.mark.parametrize("shared", ["a constant", "years", "a counter", "numbers"])
@pytest.mark.slow
def test_a_column_that_tables_of_one_account_share(shared: str, hospitals: Hospitals) -> None:
    """One that many rows agree in makes no match; one by which rows are told apart does, on the safe side."""
    cells = {
        "a constant": np.full(600, 7),
        "years": np.arange(600) // 30 + 2000,
        "a counter": np.delete(np.arange(640), slice(100, 140)),
        "numbers": np.random.default_rng(0).uniform(0, 3000, 600),
    }
    schema = hospitals.folder / "schema.toml"
    schema.write_text(f"{schema.read_text()}columns.shared.range = [0, 3000]\n")
    for node in hospitals.nodes:
        pd.read_csv(str(node["data"])).assign(shared=cells[shared]).to_csv(str(node["data"]), index=False)
    if shared == "numbers":
        with pytest.raises(BudgetError, match="account of its own"):
            hospitals.train()
    else:
        hospitals.train()
    assert len(list(tables_home().glob("*/"))) == (1 if shared == "numbers" else 3)


def heard_less(message: Message) -> None:
    if message.metadata.dst_node_id == 2 and records.has(message.content, "keys"):
        public = records.read(message.content, "keys", AllKeys).by_site()
        short = {name: replace(keys, epochs=keys.epochs[:EPOCH_BYTES]) for name, keys in public.items()}
        records.write(message.content, "keys", AllKeys.of(short))


def joined_otherwise(message: Message) -> None:
    """Have a hospital join for exact sums, which would spare it the epochs."""
    if message.metadata.message_type == "query.join":
        question = records.read(message.content, "inputs", JoinQuestion)
        records.write(message.content, "inputs", replace(question, dp=False))


@pytest.mark.parametrize(
    ("change", "told"), [(heard_less, (SumError, "signed")), (joined_otherwise, (BudgetError, "joined"))]
)
@pytest.mark.slow
def test_a_coordinator_cannot_change_what_hospitals_have_heard_nor_what_they_joined_for(
    change: Callable[[Message], None], told: tuple[type[Exception], str], hospitals: Hospitals
) -> None:
    for node in hospitals.nodes:
        node |= {"privacy": "exact", "noise": 0.25}
    hospitals.train()
    hospitals.save("backup")
    hospitals.train()
    hospitals.restore("backup")
    with pytest.raises(told[0], match=told[1]):
        hospitals.train(change)
    assert hospitals.private_answers() == 0


# What they tell each other


def hospital(hospitals: Hospitals, number: int = 0, run: int = 1) -> Hospital:
    return own_hospital(hospitals.nodes[number], run)


@pytest.fixture
def linked(hospitals: Hospitals) -> Hospitals:
    for node in hospitals.nodes:
        link_table(Path(str(node["state"])), read_table(Path(str(node["data"]))))
    return hospitals


def test_what_is_published_depends_on_no_row(linked: Hospitals) -> None:
    """The number of runs that a ledger has had is the only thing that it tells."""
    first = enter_run(hospital(linked))
    assert len(first) == EPOCH_BYTES
    assert int.from_bytes(first[:8], "big") == 1
    published = {"hospital0": first, "hospital1": enter_run(hospital(linked, 1)), "hospital2": b""}
    state = hospital(linked)
    records.put(state.state, EPOCH, {EPOCH: first.hex()})
    receive_epochs(state, published)
    again = enter_run(hospital(linked))
    assert int.from_bytes(again[:8], "big") == 2
    # Its own last one, and that of the one it has met.
    assert again[EPOCH_BYTES:] == first + published["hospital1"]


def test_neither_what_a_coordinator_hands_out_again_nor_an_epoch_of_another_length_spoils_what_was_heard(
    linked: Hospitals,
) -> None:
    """Behind one of another length nothing could be told apart."""
    old, new = (enter_run(hospital(linked, 1)) for _ in range(2))
    own, peer = enter_run(here := hospital(linked)), enter_run(hospital(linked, 2))
    for bad in (b"\xff" * 9, b"\xff" * 31, b""):
        receive_epochs(here, {"hospital0": own, "hospital1": bad, "hospital2": peer})
    assert enter_run(hospital(linked))[EPOCH_BYTES:] == own + peer
    for published in (new, old):
        receive_epochs(here, {"hospital0": own, "hospital1": published, "hospital2": peer})
    assert new[:EPOCH_BYTES] in enter_run(hospital(linked))


def test_nobody_can_make_up_an_epoch_of_another_hospital(linked: Hospitals) -> None:
    own = enter_run(here := hospital(linked))
    made_up = (
        own[:8] + bytes(24),
        bytes(32),
        own[:31] + bytes([own[31] ^ 1]),
        own[:20],
        enter_run(hospital(linked, 2)),
    )
    peer = enter_run(hospital(linked, 1))
    receive_epochs(here, {"hospital0": own, "hospital1": peer + b"".join(made_up)})
    assert read_ledger(linked.state).missed == ()


def test_of_two_copies_that_both_went_on_each_learns_of_the_other(linked: Hospitals) -> None:
    """The second one has had more runs, with other hospitals: a count alone would not tell."""
    enter_run(hospital(linked))
    linked.save("second")
    here, there = hospital(linked), hospital(linked, 1)
    own, peer = enter_run(here), enter_run(there)
    receive_epochs(there, {"hospital0": own, "hospital1": peer})
    linked.restore("second")
    for _ in range(3):
        own = enter_run(here)
    with pytest.raises(BudgetError, match="uses"):
        receive_epochs(here, {"hospital0": own, "hospital1": enter_run(hospital(linked, 1))})
    assert len(read_ledger(linked.state).missed) == 1
    with pytest.raises(BudgetError, match="spent"):
        enter_run(hospital(linked))


def test_hospitals_do_not_wait_in_a_run_until_another_ones_ledger_is_an_old_copy(linked: Hospitals) -> None:
    """They signed what they had heard before the run that the copy lacks, and the coordinator kept it."""
    waiting = hospital(linked, 1, run=1)
    said_before = enter_run(waiting)
    linked.save("backup")
    own, peer = enter_run(here := hospital(linked, run=2)), enter_run(there := hospital(linked, 1, run=2))
    for site in (here, there):
        receive_epochs(site, {"hospital0": own, "hospital1": peer})
    linked.restore("backup")
    again = enter_run(joins_late := hospital(linked, run=1))
    for site in (joins_late, waiting):
        receive_epochs(site, {"hospital0": again, "hospital1": said_before})  # nobody notices
    budget.charge(joins_late, PRIVATE_BINS, 1e-3)
    with pytest.raises(BudgetError, match="begun"):
        budget.charge(waiting, PRIVATE_BINS, 1e-3)


@pytest.mark.parametrize("content", [None, "", "[]", "{}", "x\n{}"])
def test_who_has_lost_what_it_heard_hears_it_anew(content: str | None, linked: Hospitals) -> None:
    own, peer = enter_run(here := hospital(linked)), enter_run(hospital(linked, 1))
    receive_epochs(here, {"hospital0": own, "hospital1": peer})
    file = linked.state / HEARD_FILE
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    assert len(enter_run(hospital(linked))) == EPOCH_BYTES
    receive_epochs(here, {"hospital0": own, "hospital1": peer})
    assert len(enter_run(hospital(linked))) == 3 * EPOCH_BYTES


def test_no_row_is_looked_at_for_a_site_that_has_not_joined(
    linked: Hospitals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Site, "train", lambda _: pytest.fail("looks at rows"))
    roster = SimpleNamespace(roster=NAMES)
    part = SimpleNamespace(sum_round=roster, protocol=Ring())
    site = Site.of(hospital(linked), "dp", part)  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="joined"):
        privately(site, PRIVATE_BINS, BinsQuestion(1e-3, *np.zeros((2, 2))), private_bins)


def test_how_many_columns_and_classes_a_row_has_is_not_the_coordinators_choice(linked: Hospitals) -> None:
    """Nothing has been charged yet, and where memory ends tells how many rows there are."""
    asked = SchemaBroadcast(("age", "dose"), ("0", "1"), (), 0.2, 0, 0)
    for schema in (
        replace(asked, columns=("age", "dose", *(["age"] * 10_000))),
        replace(asked, classes=("0", "1", *(["1"] * 10_000))),
    ):
        enter_run(site := hospital(linked))
        records.write(message := RecordDict(), "broadcast.schema", schema)
        site.keep_broadcasts(message)
        Site.of(site, "dp").table()
        tracemalloc.start()
        with pytest.raises((SettingError, TableError)):
            Site.of(site, "dp").train()
        assert tracemalloc.get_traced_memory()[1] < 600 * 10_000
        tracemalloc.stop()


def test_the_place_of_the_ledgers_does_not_depend_on_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for state in ("state", "~nobody-of-that-name/state"):
        monkeypatch.setenv("XDG_STATE_HOME", state)
        with pytest.raises(BudgetError):
            tables_home()
    assert not list(tmp_path.iterdir())


def joined(folder: Path, level: str, run: int, missing: str = "") -> Site:
    """Return a hospital's site in a run that it has joined; its schema file says what is missing."""
    schema, file = folder / "schema.toml", folder / "ward.csv"
    if not file.exists():
        frame = pd.DataFrame(
            np.random.default_rng(0).normal(60, 9, (60, 2)).round(2), columns=["age", "dose"]
        )
        frame.loc[:3, "age"] = -9
        frame.assign(label=np.resize(["no", "yes"], 60)).to_csv(file, index=False)
        new_ledger(folder / "state", 0.2)
    schema.write_text(f'label = "label"\nclasses = ["no", "yes"]\n[columns.age]\n{missing}\n[columns.dose]\n')
    paths = {"data": str(file), "schema": str(schema), "state": str(folder / "state")}
    node: dict[str, Scalar] = {"name": "north", "privacy": level, "noise": 0.25, **paths}
    site = Site.of(own_hospital(node, run, privacy=level), level)
    join(site, JoinQuestion(()))
    told = SchemaBroadcast(("age", "dose"), ("no", "yes"), (), 0.2, 0, 0)
    records.write(message := RecordDict(), "broadcast.schema", told)
    site.keep_broadcasts(message)
    return site


@pytest.mark.parametrize("level", ["exact", "perturbed"])
def test_a_run_that_fails_before_an_answer_about_rows_settles_nothing(level: str, tmp_path: Path) -> None:
    """A schema file that was amended after such a run was refused until a person ended the budget or the copy."""
    joined(tmp_path, level, 1)
    assert len(joined(tmp_path, level, 2, "missing = [-9]").train().X) > 30
    with pytest.raises(BudgetError):
        joined(tmp_path, level, 3)


def test_a_copy_that_begins_as_classes_are_told_settles_how_records_are_told_apart(tmp_path: Path) -> None:
    """A study of fewer columns could have settled it after that, beside a copy of all columns."""
    joined(tmp_path, "perturbed", 1)
    assert not read_ledger(tmp_path / "state").joined
    schema = (tmp_path / "schema.toml").read_text().replace('classes = ["no", "yes"]\n', "")
    (tmp_path / "schema.toml").write_text(schema)
    paths = {"data": "ward.csv", "schema": "schema.toml", "state": "state"}
    node: dict[str, Scalar] = {"name": "north", "privacy": "perturbed", "noise": 0.25}
    node |= {key: str(tmp_path / name) for key, name in paths.items()}
    join(Site.of(own_hospital(node, 2, privacy="perturbed"), "perturbed"), JoinQuestion(()))
    ledger = read_ledger(tmp_path / "state")
    assert ledger.copy
    assert ledger.joined


def test_a_copy_that_was_ended_is_not_shown_from_memory(tmp_path: Path) -> None:
    """A SuperNode that runs for months went on with it, and would have begun the next one in the midst of a study."""
    before, same = (joined(tmp_path, "perturbed", run).train().X for run in (1, 2))
    assert np.array_equal(before, same)
    third = joined(tmp_path, "perturbed", 3)
    end_copy(tmp_path / "state")
    assert np.array_equal(third.train().X, before)  # the run that goes on
    after = joined(tmp_path, "perturbed", 4).train().X
    assert len(after) == len(before)
    assert not np.isin(after, before).any()
