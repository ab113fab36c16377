"""The unit is the patient: at a hospital no side, fold, count or charge takes a patient's rows apart."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flwr.app import RecordDict
from hypothesis import given
from hypothesis import strategies as st

from clients.budget import new_ledger
from clients.dealing import fold_order, rarest_classes
from clients.folds import folds_of
from clients.groups import squares_of
from clients.labels_told import disclosed_classes
from clients.ledger.ledger import change_ledger, read_ledger
from clients.ledger.tables import link_own_table
from clients.patients import at_most, patient_numbers
from clients.perturb import PerturbedTerms, perturbed_table
from clients.rows import true_table
from clients.site import Site
from clients.table.form import TableForm
from clients.table.reading import read_table
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.counts import patient_squares
from flower_pansvm.errors import BudgetError, FederationError, TableError
from flower_pansvm.systems.common import SchemaBroadcast
from flower_pansvm.systems.local_only import LocalScoresQuestion
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar
from tests.contexts import own_hospital

SCHEMA = """
label = "label"
classes = ["no", "yes"]
{patient}
[columns.age]
range = [0, 120]
[columns.dose]
range = [0, 99]
"""
TOLD = SchemaBroadcast(("age", "dose"), ("no", "yes"), (), 0.2, 5, 0)
LEVELS = ("exact", "perturbed", "dp")
PATIENTS = 120


def visits(patients: int = PATIENTS, each: int = 3) -> pd.DataFrame:
    draw, whose = np.random.default_rng(0), np.repeat(np.arange(patients), each)
    return pd.DataFrame(
        {
            "visit": [f"V{number}" for number in range(len(whose))],
            "mrn": [f"P{number}" for number in whose],
            "age": draw.normal(60, 9, len(whose)).round(2),
            "dose": draw.gamma(2, 3, len(whose)).round(2),
            "label": np.where(draw.random(patients) < 0.3, "yes", "no")[whose],
        }
    ).sample(frac=1, random_state=0)


@pytest.fixture
def node(tmp_path: Path) -> dict[str, Scalar]:
    visits().to_csv(tmp_path / "ward.csv", index=False)
    (tmp_path / "schema.toml").write_text(SCHEMA.format(patient='patient-id = "mrn"'))
    new_ledger(tmp_path / "state", 0.2)
    named = {"data": tmp_path / "ward.csv", "schema": tmp_path / "schema.toml", "state": tmp_path / "state"}
    return {"name": "north", **{key: str(path) for key, path in named.items()}}


def site_of(
    node: dict[str, Scalar], level: str = "exact", told: SchemaBroadcast = TOLD, most: int = 1
) -> Site:
    site = Site.of(own_hospital(node, rows_per_patient=most), level)
    link_own_table(site, true_table(site))
    records.write(message := RecordDict(), "broadcast.schema", told)
    site.keep_broadcasts(message)
    return site


def ids_of(node: dict[str, Scalar], X: np.ndarray) -> list[str]:
    """Return the patients of true rows: no two rows of the table are equal."""
    frame = pd.read_csv(str(node["data"]))
    known = {(row.age, row.dose): row.mrn for row in frame.itertuples()}
    return [known[tuple(row)] for row in X.tolist()]


@pytest.mark.parametrize("ids", [{}, {"row-id": "visit"}], ids=str)
def test_a_patients_rows_are_on_one_side_and_in_one_fold(
    node: dict[str, Scalar], ids: dict[str, Scalar]
) -> None:
    site = site_of(node | ids)
    train, test = ids_of(node, site.train().X), ids_of(node, site.test().X)
    assert len(train) + len(test) == 3 * PATIENTS
    assert not set(train) & set(test)
    assert 0.1 < len(set(test)) / PATIENTS < 0.32
    folds = pd.DataFrame({"mrn": train, "fold": folds_of(site), "number": site.train().patients})
    assert (folds.groupby("mrn")[["fold", "number"]].nunique() == 1).to_numpy().all()
    assert np.ptp(folds.drop_duplicates("mrn")["fold"].value_counts()) <= 1
    assert len(np.unique(site.test().patients)) == len(set(test))


def test_the_sides_of_the_copy_are_those_of_the_records_and_each_record_keeps_its_own_copy(
    node: dict[str, Scalar],
) -> None:
    exact, copied = site_of(node), site_of(node, "perturbed")
    assert len(copied.train().X) == len(exact.train().X)
    assert sorted(np.unique(copied.train().patients, return_counts=True)[1]) == sorted(
        np.unique(exact.train().patients, return_counts=True)[1]
    )
    assert len(np.unique(copied.train().X[:, 0])) > 0.9 * len(copied.train().X)


def test_a_patient_stays_on_its_side_however_many_rows_come(node: dict[str, Scalar]) -> None:
    before = set(ids_of(node, site_of(node).test().X))
    frame = pd.read_csv(str(node["data"]))
    later = frame.assign(age=frame["age"] + 1.0, visit=[f"W{number}" for number in range(len(frame))])
    new = visits(40, 1).assign(mrn=[f"Q{number}" for number in range(40)], dose=90.0)
    pd.concat([new, later, frame]).to_csv(str(node["data"]), index=False)
    after = set(ids_of(node, site_of(node).test().X))
    assert {one for one in after if one.startswith("P")} == before


@pytest.mark.slow
def test_no_class_is_always_or_never_tested_at_many_small_hospitals(tmp_path: Path) -> None:
    """Of two positive patients a fifth is none, if it is rounded; here each is kept with this chance."""
    kept = []
    for number in range(150):
        folder = tmp_path / str(number)
        folder.mkdir()
        frame = visits(22, 1).assign(mrn=[f"P{number}-{one}" for one in range(22)])
        frame["label"] = ["yes"] * 2 + ["no"] * 20
        frame["age"] += number
        frame.to_csv(folder / "ward.csv", index=False)
        (folder / "schema.toml").write_text(SCHEMA.format(patient='patient-id = "mrn"'))
        new_ledger(folder / "state", 0.2)
        site = site_of(
            {
                "name": f"s{number}",
                "data": str(folder / "ward.csv"),
                "schema": str(folder / "schema.toml"),
                "state": str(folder / "state"),
            }
        )
        kept.append(np.bincount(site.test().classes, minlength=2))
    negative, positive = np.sum(kept, axis=0)
    # Six standard deviations of binomial draws.
    assert abs(positive - 60) < 6 * np.sqrt(300 * 0.16)
    assert abs(negative - 600) < 6 * np.sqrt(3000 * 0.16)


@pytest.mark.parametrize("other", ["", 'patient-id = "visit"'])
def test_another_patient_id_or_none_would_move_rows(
    other: str, node: dict[str, Scalar], tmp_path: Path
) -> None:
    """And another one in a new study's schema file would charge each row as a patient."""
    site_of(node)
    (tmp_path / "schema.toml").write_text(SCHEMA.format(patient=other))
    with pytest.raises(BudgetError, match="patient-id"):
        site_of(node)
    (tmp_path / "schema.toml").write_text(SCHEMA.format(patient='patient-id = "mrn"'))
    site_of(node)


def test_a_ledger_without_the_name_of_its_patient_id_takes_that_of_the_next_run(
    node: dict[str, Scalar], tmp_path: Path
) -> None:
    site_of(node)
    change_ledger(tmp_path / "state", lambda ledger: replace(ledger, patient_id=""))
    site_of(node)
    assert read_ledger(tmp_path / "state").patient_id == "mrn"


@pytest.mark.parametrize("most", [1, 2, 9])
def test_at_dp_at_most_so_many_rows_of_a_patient_take_part_whoever_else_is_there(
    node: dict[str, Scalar], most: int
) -> None:
    site = site_of(node, "dp", most=most)
    for rows in (site.train(), site.test()):
        assert np.unique(rows.patients, return_counts=True)[1].max() == min(most, 3)
    before = {tuple(row) for row in np.vstack([site.train().X, site.test().X]).tolist()}
    frame = pd.read_csv(str(node["data"]))
    frame[frame["mrn"] != "P7"].to_csv(str(node["data"]), index=False)
    site = site_of(node, "dp", most=most)
    after = {tuple(row) for row in np.vstack([site.train().X, site.test().X]).tolist()}
    gone = frame[frame["mrn"] == "P7"][["age", "dose"]]
    assert after == before - {tuple(row) for row in gone.to_numpy().tolist()}


def test_min_cluster_counts_patients(node: dict[str, Scalar]) -> None:
    frame = pd.read_csv(str(node["data"]))
    frame = pd.concat([frame[frame["mrn"].isin([f"P{one}" for one in range(8)])]])
    frame["label"] = np.where(frame["mrn"] == "P0", "yes", "no")
    frame.to_csv(str(node["data"]), index=False)
    with pytest.raises(TableError, match="patients"):
        site_of(node | {"min-cluster": 9}).train()
    with pytest.raises(TableError, match="folds"):
        folds_of(
            site_of(node | {"min-cluster": 4}, told=SchemaBroadcast(*list(vars(TOLD).values())[:4], 2, 0))
        )
    schema = Path(str(node["schema"]))
    schema.write_text(schema.read_text().replace('classes = ["no", "yes"]', ""))
    site = site_of(node | {"min-cluster": 3})
    assert disclosed_classes(site, site.table(), ()).tolist() == ["no"]


def test_a_second_model_is_not_counted_by_patient(node: dict[str, Scalar]) -> None:
    """Two models that differ in two rows would tell whether these are of one patient."""
    site = site_of(node)
    said = np.zeros(len(site.test().classes), dtype=np.int64)
    first = squares_of(site, said, LocalScoresQuestion(1.0, 0.0))
    assert (squares_of(site, said, LocalScoresQuestion(1.0, 0.0)) == first).all()
    with pytest.raises(FederationError):
        squares_of(site, said, LocalScoresQuestion(2.0, 0.0))
    # What a map of features is, the question does not say: it is broadcast.
    records.write(message := RecordDict(), "broadcast.map-1", LocalScoresQuestion(2.0, 0.0))
    site.keep_broadcasts(message)
    with pytest.raises(FederationError):
        squares_of(site, said, LocalScoresQuestion(1.0, 0.0))


# Tables


def table(
    tmp_path: Path, frame: pd.DataFrame, patient: str = "mrn", row_id: str | None = None
) -> np.ndarray | None:
    frame.to_csv(tmp_path / "ward.csv", index=False)
    schema = tmp_path / "schema.toml"
    schema.write_text(SCHEMA.format(patient=f'patient-id = "{patient}"'))
    return read_table(
        tmp_path / "ward.csv", None, row_id, TableForm(schema=TableSchema.read(schema))
    ).patients


def test_a_patient_id_that_is_misspelt_or_empty_is_an_error_and_shows_no_id(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="patient-id") as misspelt:
        table(tmp_path, visits(), "MRN number")
    assert "mrn" in misspelt.value.detail
    frame = visits()
    frame.loc[frame["mrn"] == "P5", "mrn"] = None
    with pytest.raises(TableError, match="patient-id") as empty:
        table(tmp_path, frame)
    assert "P4" not in empty.value.with_detail()
    assert "3 of 360" in empty.value.detail


def test_a_patient_id_may_be_the_row_id_where_no_patient_has_two_rows(tmp_path: Path) -> None:
    found = table(tmp_path, visits(30, 1), row_id="mrn")
    assert found is not None
    assert sorted(found.tolist()) == sorted(f"P{one}" for one in range(30))
    with pytest.raises(TableError, match="patient-id"):
        table(tmp_path, visits(), row_id="mrn")


# What is dealt, chosen and counted

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), min_size=1, max_size=60).map(
    lambda rows: np.array(rows).T
)


@given(ROWS, st.integers(1, 5), st.integers(0, 9))
def test_at_most_so_many_rows_of_each_patient_are_chosen_by_its_own_rows(
    rows: np.ndarray, most: int, left_out: int
) -> None:
    patients = rows[1]
    numbers = np.random.default_rng(len(patients)).permutation(len(patients))
    chosen = at_most(most, patients, numbers)
    for one in np.unique(patients):
        own = np.flatnonzero(patients == one)
        assert set(np.flatnonzero(chosen & (patients == one))) == set(own[np.argsort(numbers[own])][:most])
    others = patients != left_out
    assert (at_most(most, patients[others], numbers[others]) == chosen[others]).all()


@given(ROWS, st.integers(2, 5))
def test_folds_are_even_over_patients_and_by_their_rarest_class(rows: np.ndarray, folds: int) -> None:
    classes, patients = rows
    strata, places = rarest_classes(classes, patients)
    numbers = fold_order(classes, patients, 7 * patients % 13, start=3) % folds
    by_patient = np.array([np.unique(numbers[places == one]).item() for one in range(len(strata))])
    assert np.ptp(np.bincount(by_patient, minlength=folds)) <= 1
    counts = np.bincount(classes)
    for one in range(len(strata)):
        own = np.unique(classes[places == one])
        assert counts[np.unique(classes)[strata[one]]] == counts[own].min()
    for stratum in np.unique(strata):
        assert np.ptp(np.bincount(by_patient[strata == stratum], minlength=folds)) <= 1


@given(ROWS, st.integers(0, 2**16))
def test_squares_are_sums_over_patients(rows: np.ndarray, seed: int) -> None:
    for classes in (2, 4):
        true = rows[0] % classes
        said = np.random.default_rng(seed).integers(0, classes, len(true))
        expected = np.zeros((2 * classes, 2 * classes))
        for one in np.unique(rows[1]):
            counts = np.zeros(2 * classes)
            for i, j in zip(true[rows[1] == one], said[rows[1] == one], strict=True):
                counts[2 * i + (j if classes == 2 else int(i == j))] += 1
            expected += np.outer(counts, counts)
        assert (patient_squares(true, said, rows[1], classes) == expected).all()


def test_without_patient_id_each_row_is_a_patient(tmp_path: Path) -> None:
    visits(5).drop(columns=["mrn", "visit"]).to_csv(tmp_path / "ward.csv", index=False)
    found = read_table(tmp_path / "ward.csv", None)
    assert found.patients is None
    assert patient_numbers(found).tolist() == list(range(15))


@pytest.mark.parametrize("few", [1, 4])
def test_a_rare_class_stays_in_the_copy_where_all_sites_know_it_and_other_labels_become_none(
    few: int,
) -> None:
    """Nine sites with four records each of a class: without it in the schema file all of these became the other."""
    labels = np.array(["0"] * 160 + ["1"] * few + ["unknown"] * 40)
    draw = np.random.default_rng(few)
    table, terms = (
        Table(("age",), draw.normal(size=(len(labels), 1)), labels),
        PerturbedTerms(0.25, 5, ("0", "1")),
    )
    stayed, turned, taken = 0, 0, 0
    for number in range(40):
        copied = perturbed_table(table, "label", None, terms, number.to_bytes(32, "big")).labels
        assert copied is not None
        stayed += np.count_nonzero(copied[labels == "1"] == "1")
        turned += np.count_nonzero(copied[labels == "0"] == "1")
        taken += np.count_nonzero(copied[labels == "unknown"] != "unknown")
    # A tenth is drawn anew: at most as many of each as this, with six standard deviations.
    assert stayed >= 0.9 * 40 * few - 6 * np.sqrt(0.09 * 40 * few)
    assert turned <= 0.1 * 40 * 160 / 2
    assert taken <= 0.1 * 40 * 40 + 6 * np.sqrt(0.09 * 40 * 40)


def test_a_run_with_fewer_rows_of_a_patient_does_not_get_those_of_an_earlier_run(
    node: dict[str, Scalar],
) -> None:
    """The noise is for so many rows as the run says: a split that the process has kept of another run has more."""
    for most in (3, 1, 2):
        site = site_of(node, "dp", most=most)
        for rows in (site.train(), site.test()):
            assert np.unique(rows.patients, return_counts=True)[1].max() == most


def test_two_runs_of_other_folds_tell_which_copies_are_of_one_patient(node: dict[str, Scalar]) -> None:
    """A patient's rows are in one fold, and a coordinator sees of each fold which copies it has."""
    sites = [site_of(node, "perturbed", replace(TOLD, folds=folds)) for folds in (18, 19)]
    places = np.stack([folds_of(site) for site in sites])
    patients = sites[0].train().patients
    assert len(np.unique(places, axis=1).T) == len(np.unique(patients)) > 90
    assert len(np.unique(np.vstack([places, patients]), axis=1).T) == len(np.unique(patients))
