"""What `pansvm check` says level perturbed is worth: known errors of the filter, and tables it does not protect."""

from dataclasses import replace

import numpy as np
import pytest

from clients.checking import perturbation
from clients.checking.finding import NOTE, WARNING, Finding
from clients.checking.perturbation import filter_errors, level_findings, membership_auc, standardised
from clients.perturb import PerturbedTerms, perturbed_table
from clients.table.table import Table
from flower_pansvm.table_schema import TableColumn, TableSchema
from flower_pansvm.terms import replaced_share

TIMES = {name: getattr(perturbation, name) for name in ("WIDE", "TIMES_WIDE")}


@pytest.fixture(autouse=True)
def _as_at_hospitals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack as many copies as the command does."""
    for name, value in TIMES.items():
        monkeypatch.setattr(perturbation, name, value)


def table(X: np.ndarray) -> Table:
    return Table(tuple(f"c{n}" for n in range(X.shape[1])), X, np.resize(["a", "b"], len(X)))


def genes(rows: int = 60, columns: int = 400) -> np.ndarray:
    generator = np.random.default_rng(0)
    factors = generator.normal(size=(rows, 5)) @ generator.normal(size=(5, columns))
    return factors + 0.3 * generator.normal(size=(rows, columns))


@pytest.mark.parametrize("noise", [0.25, 0.5])
def test_the_filters_error_is_that_of_a_filter_on_a_copy(noise: float) -> None:
    generator = np.random.default_rng(1)
    X = generator.normal(size=(4000, 3)) @ generator.normal(size=(3, 8)) + generator.normal(size=(4000, 8))
    Z, copy = standardised(X), perturbed_table(table(X), "label", None, PerturbedTerms(noise), b"k" * 32).X
    noisy = (copy - X.mean(axis=0)) / X.std(axis=0)
    covariance = Z.T @ Z / len(Z)
    guesses = noisy @ np.linalg.solve(covariance + noise**2 * np.eye(8), covariance)
    found = np.sqrt(np.mean((guesses - Z) ** 2, axis=0))
    assert found == pytest.approx(filter_errors(Z, noise, np.arange(len(Z))), rel=0.08)


def test_with_more_columns_than_rows_the_error_is_the_same_as_by_the_covariance() -> None:
    Z = standardised(genes())
    C = Z.T @ Z / len(Z)
    left = np.diag(C - C @ np.linalg.solve(C + 0.25 * np.eye(len(C)), C))
    assert filter_errors(Z, 0.5, np.arange(len(Z))) == pytest.approx(np.sqrt(left), abs=1e-6)


def told(X: np.ndarray, schema: TableSchema | None = None) -> list[Finding]:
    """Return what is told of a table with ids and frequent labels."""
    return list(level_findings(replace(table(X), ids=np.arange(len(X)).astype(str)), schema))


def test_genes_are_not_protected_and_columns_apart_are() -> None:
    (of_genes,) = told(genes())
    assert of_genes.level == WARNING
    (apart,) = told(np.random.default_rng(2).normal(size=(300, 5)))
    assert apart.level == NOTE
    assert "'c" not in apart.text


def test_columns_that_are_told_by_others_are_named() -> None:
    X = np.random.default_rng(3).normal(size=(300, 30))
    X[:, 1:6] = X[:, [0]] + 0.01 * X[:, 1:6]
    (several,) = told(X)
    assert "'c0', 'c1', 'c2', 'c3', 'c4' and 1 more" in several.text
    # A column in two units is there twice.
    X = X[:, [0, 7, 7, 8, 9]] * [1, 1, 2.2, 1, 1]
    (twice,) = told(X)
    assert "column 'c1', 'c2'." in twice.text


def test_the_features_of_a_category_do_not_follow_each_other() -> None:
    """They are perturbed together, so none of them is a second copy of another."""
    generator = np.random.default_rng(6)
    X = np.column_stack([np.eye(2)[generator.integers(0, 2, 300)], generator.normal(size=(300, 3))])
    columns = TableColumn("sex", "category", categories=("f", "m")), *map(TableColumn, ("a", "b", "c"))
    schema = TableSchema(columns)
    sound = replace(table(X), columns=schema.features)
    assert "'sex" in next(level_findings(sound, None)).text
    assert "'sex" not in next(level_findings(sound, schema)).text


@pytest.mark.parametrize(("noise", "visits"), [(0.25, 4), (0.5, 8)])
def test_what_a_patients_rows_share_is_told_by_their_copies(noise: float, visits: int) -> None:
    """A table of eight visits was called as sound as one of one."""
    generator, patients = np.random.default_rng(5), 500
    whose = np.repeat(np.arange(patients), visits)
    lasting = generator.normal(size=(patients, 3))[whose]
    X = np.column_stack([lasting, generator.normal(size=len(whose))])
    own = replace(table(X), patients=whose.astype(str), ids=(7 * np.arange(len(X))).astype(str), labels=None)
    copy = perturbed_table(own, "label", None, PerturbedTerms(noise), bytes(32)).X
    noisy, errors = (copy - X.mean(axis=0)) / X.std(axis=0), filter_errors(standardised(X), noise, whose)
    means = np.array([noisy[whose == one, :3].mean(axis=0) for one in range(patients)])[whose]
    guesses = means * visits / (visits + noise**2)
    found = np.sqrt(np.mean((guesses - standardised(X)[:, :3]) ** 2, axis=0))
    assert errors[:3] == pytest.approx(found, rel=0.08)
    assert errors[3] == pytest.approx(noise / np.sqrt(1 + noise**2), rel=0.03)
    (of_visits,), (of_rows,) = level_findings(own, None), level_findings(replace(own, patients=None), None)
    assert [of_visits.level, of_rows.level] == [WARNING, NOTE]
    assert f"{visits} rows" in of_visits.text


def test_most_copies_tell_a_label_that_eight_rows_of_a_patient_share() -> None:
    whose = np.repeat(np.arange(1000), 8)
    labels = np.where(whose % 2, "yes", "no")
    X = np.random.default_rng(5).normal(size=(len(whose), 1))
    own = replace(
        table(X), patients=whose.astype(str), ids=(7 * np.arange(len(X))).astype(str), labels=labels
    )
    copy = perturbed_table(own, "label", None, PerturbedTerms(0.5), bytes(32)).labels
    told = (copy == "yes").reshape(1000, 8).sum(axis=1)
    right = np.where(np.arange(1000) % 2, told > 4, told < 4) + (told == 4) / 2
    assert right.mean() == pytest.approx(0.995, abs=0.005)
    assert np.mean(copy == labels) == pytest.approx(0.875, abs=0.02)


def test_who_took_part_is_told_where_columns_are_many() -> None:
    X = np.random.default_rng(4).normal(size=(300, 100))

    def auc(columns: int, noise: float) -> float:
        return membership_auc(replace(table(X[:, :columns]), labels=None), None, noise)

    assert auc(100, 0.5) > 0.95
    assert auc(1, 0.5) == pytest.approx(0.5, abs=0.1)
    assert auc(8, 0.25) > auc(8, 0.5) + 0.1


def test_a_small_table_is_weak_and_with_less_noise_a_larger_one() -> None:
    """Of 30 records half had copies of their own small table: an area of 0.68, and no word of weakness."""
    X = np.random.default_rng(0).normal(size=(300, 8))
    (few,), (large,), less = told(X[:20]), told(X), next(level_findings(table(X), None, 0.25))
    assert [one.level for one in (few, large, less)] == [WARNING, NOTE, WARNING]
    assert next(level_findings(table(X[:30]), None, 0.25)).level == WARNING
    assert membership_auc(replace(table(X[:30]), labels=None), None, 0.5) > 0.7


@pytest.mark.parametrize(("patients", "visits"), [(5, 40), (30, 2), (200, 2)])
def test_rows_of_a_patient_are_on_one_side_of_who_took_part(patients: int, visits: int) -> None:
    """Others whose visits had part look like members; the columns are looked at with whose each row is."""
    generator = np.random.default_rng(0)
    whose = np.repeat(np.arange(patients), visits)
    X = generator.normal(size=(patients, 30))[whose] + generator.normal(0, 0.05, (len(whose), 30))
    order = generator.permutation(len(X))
    shuffled = replace(table(X[order]), patients=whose[order].astype(str))
    found = [finding.text for finding in level_findings(shuffled, None) if "took part" in finding.text]
    assert len(found) == (patients > 5)
    if found:
        assert membership_auc(replace(shuffled, labels=None), None, 0.25) > 0.95


def test_of_a_table_without_columns_that_differ_nothing_is_said() -> None:
    nothing = np.column_stack([np.full(50, 3.0), np.full(50, np.nan)])
    assert told(nothing) == []
    # Of a column that differs in one record, half of the records may not have it.
    (hardly,) = told(np.eye(50)[:, :1])
    assert "AUC 0.5" in hardly.text
    # One that holds both is sound.
    X = np.column_stack([nothing, np.random.default_rng(5).normal(size=(50, 3))])
    X[::7, 2] = np.nan
    (sound,) = told(X)
    assert sound.level == NOTE


def test_without_ids_and_with_rare_classes_more_is_said() -> None:
    X = np.random.default_rng(7).normal(size=(1000, 3))
    assert [one.level for one in level_findings(table(X), None)] == [NOTE, NOTE]
    assert "row-id" in list(level_findings(table(X), None))[1].text
    rare = replace(table(X), labels=np.array(["a"] * 10 + ["b"] * 990))
    assert [one.level for one in level_findings(rare, None)] == [NOTE, NOTE, WARNING]
    assert [one.level for one in level_findings(replace(rare, labels=None), None)] == [NOTE, NOTE]


@pytest.mark.parametrize("noise", [0.25, 0.5])
def test_of_a_rare_class_as_many_labels_are_wrong_as_is_said(noise: float) -> None:
    labels = np.array(["a"] * 1000 + ["b"] * 39_000)
    whole = replace(table(np.random.default_rng(8).normal(size=(40_000, 1))), labels=labels)
    copy = perturbed_table(whole, "label", None, PerturbedTerms(noise), bytes(32)).labels
    assert np.mean(labels[copy == "a"] == "b") == pytest.approx(replaced_share(noise), abs=0.04)


@pytest.mark.parametrize(("widest", "warned"), [(3, []), (90, []), (2000, [WARNING])])
def test_a_range_that_makes_noise_of_a_column_is_told(widest: float, warned: list[str]) -> None:
    X = np.random.default_rng(2).normal(size=(300, 5)).clip(-3, 3)
    schema = TableSchema(
        (TableColumn("c1", ends=(-3.0, widest)), *(TableColumn(f"c{n}") for n in (0, 2, 3, 4)))
    )
    assert [finding.level for finding in told(X, schema) if "'c1'" in finding.text] == warned


def test_a_large_table_is_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clients.checking.perturbation.MOST_CELLS", 500)
    generator, seen = np.random.default_rng(9), []
    monkeypatch.setattr(
        "clients.checking.perturbation.membership_auc", lambda own, *_: seen.append(own.X.shape) or 0.5
    )
    told(generator.normal(size=(1000, 5)))
    assert seen == [(100, 5), (100, 5)]


@pytest.mark.parametrize(("wrong", "named"), [(0.0, True), (0.02, True), (0.12, False)])
@pytest.mark.parametrize("kind", ["codes", "measurements"])
def test_a_column_that_tells_the_label_is_named_as_a_second_copy_of_it(
    wrong: float, named: bool, kind: str
) -> None:
    """Where the label and such a column agreed in their copies, 98 % of labels were right, of 87 % promised."""
    generator = np.random.default_rng(4)
    X = generator.normal(size=(400, 4))
    labels = np.where(generator.random(400) < 0.4, "dead", "alive")
    X[:, 2] = (labels == "dead") ^ (generator.random(400) < wrong)
    if kind == "measurements":
        X[:, 2] += generator.random(400) / 2
    ids = np.arange(400).astype(str)
    found = [
        one
        for one in level_findings(replace(table(X), labels=labels, ids=ids), None)
        if "second copy" in one.text
    ]
    assert [one.level for one in found] == [WARNING] * named
    assert all("'c2'" in one.text for one in found)
