"""Random kernel: the same as in one place, whichever way rows and columns are dealt out; and what is refused."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message
from sklearn.datasets import load_breast_cancer, load_wine

from clients.membership import KEYS
from clients.prediction import predict_file, with_simulated_matrices
from clients.seeds import COLUMN_BLOCK, NOTE_BYTES, distribute_seed
from flower_pansvm import records
from flower_pansvm.errors import FederationError, ModelFileError, SettingError, SumError, TableError
from flower_pansvm.models.model import load_model
from flower_pansvm.models.random_kernel_svc import RandomKernelSVC
from flower_pansvm.result_file import RESULT_FILE
from flower_pansvm.scaling import Scaling
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.keys import unseal
from flower_pansvm.summing import PublicKeys, keys_digest, signed_member
from flower_pansvm.systems.common import JoinAnswer, LayoutBroadcast
from flower_pansvm.systems.random_kernel import MEANS, random_matrix
from flower_pansvm.tasks import Nothing
from simulations.attack.audit import audit
from simulations.engines.in_process import InProcessGrid, in_process_grid
from simulations.running import check, with_sites_of_data
from strategies.app import run
from strategies.federation.federation import Federation
from strategies.random_kernel.strategy import RandomKernel
from strategies.random_kernel.training import count_rows, most_rows, one_norm_svm
from strategies.settings import Settings, make_settings
from tests.strategies.conftest import trained

AGREED = {"extremes": "agreed", "kernel-rows": "agreed", "row-labels": "agreed"}


def settings_of(**values: Any) -> Settings:
    usual = {"strategy": "random-kernel", "min_sites": 2, "test_fraction": 0.2, "privacy": "exact"}
    chosen = make_settings(**{**usual, **values})
    return with_sites_of_data(chosen) if chosen.data else chosen


def opened(strategy: RandomKernel, tmp_path: Path) -> Any:
    """Return the model with its random matrices, made again as 'pansvm predict' does."""
    (tmp_path / RESULT_FILE).write_text(json.dumps({"config": strategy.settings.to_config()}))
    assert isinstance(strategy.outcome.model, RandomKernelSVC)
    return with_simulated_matrices(strategy.outcome.model, tmp_path / RESULT_FILE)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("split", ["checkerboard:3x1", "checkerboard:1x3", "checkerboard:2x2"])
def test_the_same_as_in_one_place(split: str, kernel: str, tmp_path: Path) -> None:
    """Trained and tried, cell by cell, as by the whole kernel with the same B."""
    strategy = trained(settings_of(split=split, kernel=kernel, test_fraction=0.0, C_random_kernel=3.0))
    model = opened(strategy, tmp_path)
    data = load_breast_cancer()
    low, width = data.data.min(axis=0), np.ptp(data.data, axis=0)
    X, B = (data.data - low) / width, np.hstack(model.matrices_)
    mu = strategy.outcome.figures["gamma"]
    distances = np.square(X[:, None] - B).sum(axis=2)
    K = X @ B.T if kernel == "linear" else np.exp(-mu * distances)
    # The classes are in the order of their names: benign, malignant.
    d = np.where(data.target == 0, 1.0, -1.0)
    u, gamma = one_norm_svm(K, d, 3.0)
    value = 3.0 * np.maximum(0.0, 1.0 - d * (K @ u - gamma)).sum() + np.abs(u).sum()
    found = model.decision_function(data.data)
    reached = 3.0 * np.maximum(0.0, 1.0 - d * found).sum() + np.abs(model.parts_.u).sum()
    assert reached == pytest.approx(value, rel=1e-6)
    assert found == pytest.approx(K @ model.parts_.u - model.parts_.threshold, rel=1e-9, abs=1e-9)


def test_test_rows_are_classified_block_by_block_as_by_the_whole_kernel(
    pool: Callable[..., Any], tmp_path: Path
) -> None:
    strategy = trained(settings_of(split="checkerboard:3x2"))
    test = pool(strategy.settings, strategy.federation.schema, test=True)
    predicted = opened(strategy, tmp_path).decision_function(test.X) > 0
    evaluation = strategy.outcome.evaluation
    assert evaluation.accuracy == pytest.approx((predicted == test.classes).mean())
    assert evaluation.rows == len(test.X)


def test_sites_of_a_column_block_have_one_matrix_and_others_another() -> None:
    contexts = trained(settings_of(split="checkerboard:2x2")).federation.grid._contexts
    seeds = [records.get(one.state, f"first.{COLUMN_BLOCK}")["value"] for one in contexts.values()]
    assert seeds[0] == seeds[2] != seeds[1] == seeds[3]


def test_the_matrix_of_the_next_run_is_the_same(
    hospitals: Callable[..., InProcessGrid], hospital_files: list[Path]
) -> None:
    """By two matrices whoever knows them would have twice the equations."""
    settings = settings_of(sites=3, data="", random_kernel_rows=1)
    runs = [trained(settings, hospitals(settings, hospital_files, AGREED, run_id=run)) for run in (1, 2)]
    first, second = (one.outcome.model.parts_.digests for one in runs)  # type: ignore[union-attr]
    assert first == second


def test_the_coordinator_sees_no_seed_no_matrix_and_no_row() -> None:
    strategy = trained(settings_of(data="wine", positive="class_0", split="checkerboard:3x2"))
    grid = strategy.federation.grid
    kept = [(one.state, name) for one in grid._contexts.values() for name in ("slots", COLUMN_BLOCK)]
    secrets = [records.get(state, f"first.{name}")["value"] for state, name in kept]
    matrices = [random_matrix(seed, 5, 7).tobytes()[:64] for seed in secrets]
    sent = b"".join(map(_bytes_of, grid.replies))
    assert any(records.get(reply.content, "notes") for reply in grid.replies)
    assert not any(secret in sent for secret in [*secrets, *matrices])
    # Extremes of columns are disclosed, and no other cell.
    others = [reply for reply in grid.replies if reply.metadata.message_type != "train.column_ranges"]
    numbers = set(np.concatenate(list(map(_numbers_of, others))).tolist())
    cells = load_wine().data.ravel()
    assert not numbers & set(cells[cells % 1 != 0].tolist())
    told = {entry["task"] for entry in strategy.federation.costs.disclosed() if entry["how"] == "disclosed"}
    assert told == {"join", "column_ranges", "kernel", "kernel_points"}


def _bytes_of(reply: Message) -> bytes:
    found = []
    for record in reply.content.values():
        for value in record.values():
            data = getattr(value, "data", value)
            found.append(data if isinstance(data, bytes) else str(data).encode())
    return b"".join(found)


def _numbers_of(reply: Message) -> np.ndarray[Any, np.dtype[np.float64]]:
    groups = [records.get(reply.content, name) for name in ("disclosed", "sum")]
    arrays = [value for group in groups for value in group.values() if isinstance(value, np.ndarray)]
    return np.concatenate(
        [np.empty(0), *(one.ravel().astype(float) for one in arrays if one.dtype.kind == "f")]
    )


def test_a_note_opens_at_the_site_that_it_is_for_and_at_no_other() -> None:
    settings = settings_of(split="checkerboard:2x2")
    grid = in_process_grid(settings)
    trained(settings, grid)
    contents = [(reply.metadata.message_type, reply.content) for reply in grid.replies]
    joined = [
        records.read(content, "disclosed", JoinAnswer) for kind, content in contents if kind == "query.join"
    ]
    public = {
        one.name: PublicKeys(one.public_key, one.published, one.epochs, one.signature) for one in joined
    }
    digest = keys_digest({name: keys.public_key + keys.published for name, keys in public.items()})
    label = SumRound(str(grid.run.run_id), f"{COLUMN_BLOCK} {settings.terms.digest}", 0, 0, (), digest)
    notes = [records.get(content, "notes") for kind, content in contents if kind == "train.cell"]
    # The first site writes two seeds to the other site of its block, and one to each of the others.
    assert sorted(map(len, notes[0].values())) == [NOTE_BYTES, NOTE_BYTES, 2 * NOTE_BYTES]
    sealed = notes[0]["site-002"][NOTE_BYTES + 1 :]
    members = {
        name: signed_member(name, str(grid.run.run_id), records.get(context.state, KEYS), "", public)
        for name, context in zip(public, grid._contexts.values(), strict=True)
    }
    seed = records.get(list(grid._contexts.values())[2].state, f"first.{COLUMN_BLOCK}")["value"]
    assert unseal(members["site-002"], "site-000", label, COLUMN_BLOCK, sealed) == seed
    for name in ("site-001", "site-003"):
        with pytest.raises(SumError):
            unseal(members[name], "site-000", label, COLUMN_BLOCK, sealed)


def test_a_matrix_of_a_site_with_other_columns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a site of another block, together with the coordinator, could choose a matrix that it knows."""

    def to_all(site: Any, purpose: str, seed: bytes, names: Any) -> None:
        distribute_seed(
            site, purpose, seed, site.participation.sum_round.roster if site.name == "site-000" else names
        )

    monkeypatch.setattr("clients.systems.random_kernel.distribute_seed", to_all)
    with pytest.raises(FederationError, match="'site-000'"):
        trained(settings_of(split="checkerboard:2x2"))


def test_ranges_that_make_a_column_stand_out_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = Scaling(np.zeros(30), np.zeros(30), np.full(30, 1e-3))
    monkeypatch.setattr("strategies.random_kernel.strategy.learn_ranges", lambda *_: narrow)
    settings = settings_of(split="checkerboard:2x2")
    monkeypatch.setattr("strategies.random_kernel.strategy.count_rows", _counted_and_delivered)
    with pytest.raises(SettingError, match="ranges"):
        trained(settings)


def _counted_and_delivered(federation: Federation, layout: LayoutBroadcast) -> int:
    rows = count_rows(federation, layout)
    federation.secure_sum(MEANS, Nothing())
    return rows


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"random_kernel_rows": 15},
            r"random-kernel-rows is 15, .* site 'site-000' has 15 columns.* Set at most 14",
        ),
        (
            {"split": "checkerboard:1x30"},
            "fewer rows than any block has columns, .* has 1 column. Make fewer",
        ),
    ],
)
def test_too_many_rows_of_the_matrix(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(SettingError, match=text):
        trained(settings_of(**{"split": "checkerboard:2x2", **changes}))


@pytest.mark.parametrize(
    ("rows", "columns", "printed"),
    [
        (297, 13, (12, 5, 2)),
        (351, 34, (33, 16, 7, 3)),
        (569, 30, (29, 14, 6, 2)),
        (452, 279, (45, 45, 45, 33)),
        (768, 8, (7, 3, 1)),
        (345, 6, (5, 2)),
        (1000, 24, (23, 11, 5, 2)),
        (768, 2, (1,)),
        (5, 9, (1,)),
    ],
)
def test_rows_of_b_are_those_of_the_papers_table_1(rows: int, columns: int, printed: tuple[int, ...]) -> None:
    """Of its seven data sets, each in 1, 2, 4 and 8 column blocks as equal as can be; and one at least."""
    assert tuple(most_rows(rows, columns // 2**power) for power in range(len(printed))) == printed


def test_few_rows_of_b_and_a_small_weight_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="flwr"):
        logging.getLogger("flwr").propagate = True
        found = trained(settings_of(random_kernel_rows=7, split="checkerboard:2x2", C_random_kernel=1e-6))
    assert "more than half" not in caplog.text
    assert "all weights are 0" in caplog.text
    assert found.outcome.figures["weights_in_use"] == 0
    with caplog.at_level(logging.WARNING, logger="flwr"):
        trained(settings_of(random_kernel_rows=8, split="checkerboard:2x2"))
    assert "more than half" in caplog.text


def test_sites_with_other_columns_of_the_same_rows_do_not_perturb_them() -> None:
    with pytest.raises(SettingError, match="privacy=exact"):
        trained(settings_of(split="checkerboard:1x2", privacy="perturbed"))
    assert trained(settings_of(split="checkerboard:3x1", privacy="perturbed")).outcome.model is not None


def test_a_checkerboard_is_not_for_strategies_that_need_whole_rows() -> None:
    check(settings_of(split="checkerboard:3x2"))
    other = with_sites_of_data(make_settings(strategy="pan-svm", split="checkerboard:3x2"))
    with pytest.raises(SettingError, match="columns"):
        check(other)
    check(with_sites_of_data(make_settings(strategy="pan-svm", split="checkerboard:3x1")))


def cell_files(
    folder: Path, change: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table
) -> list[Path]:
    """Write a file for each cell of a 2 x 2 checkerboard, each in an order of its own; change the last one."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.iloc[:160].copy()
    table.insert(0, "patient", [f"P{number:04d}" for number in range(160)])
    table["label"] = data.target.iloc[:160]
    columns, files = list(data.data.columns), []
    for rows in (slice(0, 80), slice(80, 160)):
        for number, block in enumerate((columns[:14], columns[14:])):
            own = table.iloc[rows][["patient", *block, "label"]].sample(frac=1.0, random_state=number)
            files.append(folder / f"cell{len(files)}.csv")
            (change(own) if len(files) == 4 else own).to_csv(files[-1], index=False)
    return files


def test_hospitals_match_rows_by_their_ids(hospitals: Callable[..., InProcessGrid], tmp_path: Path) -> None:
    settings = settings_of(sites=4, data="", min_sites=3)
    files = cell_files(tmp_path)
    strategy = trained(settings, hospitals(settings, files, {**AGREED, "row-id": "patient"}))
    figures = strategy.outcome.figures
    assert (figures["row_blocks"], figures["column_blocks"], figures["rows_of_matrix"]) == (2, 2, 13)
    assert strategy.outcome.evaluation.accuracy > 0.8  # type: ignore[operator]


def relabelled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(label=np.where(table["patient"] == "P0100", 1 - table["label"], table["label"]))


def renamed(other: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(patient=table["patient"].replace("P0100", other))


WRONG: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "another id": renamed("P0200"),
    "a row less": lambda table: table.iloc[1:],
    "an id twice": renamed("P0101"),
    "an id missing": renamed(""),
    "no column of ids": lambda table: table.drop(columns="patient"),
    "another label": relabelled,
    "a column of the other block": lambda table: table.assign(**{"mean radius": 1.0}),
}


@pytest.mark.parametrize("what", WRONG)
def test_rows_that_do_not_match_are_an_error_without_values(
    what: str, hospitals: Callable[..., InProcessGrid], tmp_path: Path
) -> None:
    settings = settings_of(sites=4, data="", min_sites=3, test_fraction=0.0)
    grid = hospitals(settings, cell_files(tmp_path, WRONG[what]), {**AGREED, "row-id": "patient"})
    with pytest.raises(TableError, match="cell") as caught:
        trained(settings, grid)
    assert "P0" not in str(caught.value)


def test_three_classes_are_refused_before_any_row_leaves() -> None:
    with pytest.raises(SettingError, match="positive"):
        trained(settings_of(data="wine"))


def test_the_model_predicts_with_the_sites_help_only(tmp_path: Path) -> None:
    settings = settings_of(split="checkerboard:2x2", out=str(tmp_path))
    run(in_process_grid(settings), settings, tmp_path)
    model = load_model(tmp_path / "model.npz")
    data = load_breast_cancer(as_frame=True)
    with pytest.raises(ModelFileError):
        model.predict(data.data)
    names = data.target_names[data.target]
    data.data.assign(label=names).to_csv(tmp_path / "rows.csv", index=False)
    right = predict_file(tmp_path / "model.npz", tmp_path / "rows.csv", None).right
    assert right is not None
    assert right.right > 0.85 * right.of
    result = json.loads((tmp_path / RESULT_FILE).read_text())
    result["config"]["seed"] = 1
    (tmp_path / RESULT_FILE).write_text(json.dumps(result))
    with pytest.raises(ModelFileError):
        predict_file(tmp_path / "model.npz", tmp_path / "rows.csv", None)


def test_the_audit_counts_the_rows_that_a_site_of_the_block_computes(
    shared_data: Path, tmp_path: Path
) -> None:
    heart = pd.read_csv(shared_data / "heart-cleveland.csv.gz").dropna()
    heart.assign(label=(heart["label"] > 0).astype(int)).to_csv(tmp_path / "heart.csv", index=False)
    settings = settings_of(data=str(tmp_path / "heart.csv"), sites=3, out=str(tmp_path / "out"), audit=True)
    run(in_process_grid(settings), settings, Path(settings.out))
    found = audit(settings, Path(settings.out))
    assert found.figures["kernel_rows_shown"] == 297
    result = json.loads((tmp_path / "out" / RESULT_FILE).read_text())
    assert found.figures["rows_from_kernel"] == result["rows_train"]
    assert not {"kernel", "cell", "means", "column_ranges"} & set(found.not_examined)
