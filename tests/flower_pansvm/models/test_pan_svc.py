"""The fitted model: the right decisions, a good scikit-learn classifier, and a file that never lies."""

import hashlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score

from flower_pansvm.arrays import BLOCK
from flower_pansvm.calibration import Calibration
from flower_pansvm.errors import ModelFileError, TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import Pair, class_decisions, one_versus_all, one_versus_one
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from strategies.steps.feature_maps import fit_map

COLUMNS = ("age", "dose", "größe")


def make_model(
    classes: tuple[str, ...] = ("0", "1"),
    kernel: Kernel | None = None,
    seed: int = 0,
    pairs: tuple[Pair, ...] | None = None,
    calibration: Calibration | None = None,
    positive: tuple[str, ...] = (),
) -> PanSVC:
    rng = np.random.default_rng(seed)
    feature_map = fit_map(kernel or Kernel("rbf", gamma=0.5), rng.normal(size=(6, 3)))
    scaling = Scaling(np.array([50.0, 0.01, 1.7]), np.array([50.0, 0.02, 1.7]), np.array([10.0, 0.01, 0.1]))
    problems = len(pairs or one_versus_all(len(classes)))
    weights = rng.normal(size=(problems, feature_map.rank + 1))
    schema = Schema(COLUMNS, classes, positive)
    return PanSVC.from_parts(schema, scaling, feature_map, weights, pairs, calibration)


def make_rows(count: int = 30, seed: int = 1) -> pd.DataFrame:
    cells = np.random.default_rng(seed).normal(size=(count, 3)) * [10, 0.01, 0.1] + [50, 0.02, 1.7]
    return pd.DataFrame(cells, columns=list(COLUMNS))


MODELS = [
    make_model(),
    make_model(("negative", "positive"), positive=("3", "4")),
    make_model(("1", "2", "10"), Kernel("rbf", gamma=0.3)),
    make_model(("a", "b", "c", "d"), Kernel("linear")),
    make_model(("v", "w"), pairs=one_versus_one(2), calibration=Calibration(*np.array([[2.0], [-0.3]]))),
    make_model(("p", "q", "r", "s"), pairs=one_versus_one(4)),
    make_model(("x", "y", "z"), calibration=Calibration(*np.array([[1.0, 0.0, 3.0], [0.0, -2.0, 1.0]]))),
]
CALIBRATED = [model for model in MODELS if model.calibration_]


def described(model: PanSVC) -> str:
    return "-".join(map(str, model.classes_))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def saved(folder: Path) -> bytes:
    MODELS[0].save(folder / "saved.npz")
    return (folder / "saved.npz").read_bytes()


@pytest.mark.parametrize("model", MODELS, ids=described)
def test_decisions_by_hand(model: PanSVC) -> None:
    row = make_rows(1)
    z = (row.to_numpy() - model.scaling_.shift) / model.scaling_.scale
    f = model.feature_map_.kernel(z, model.feature_map_.landmarks) @ model.feature_map_.normalization
    by_hand = [float(w @ f[0] + b) for w, b in zip(model.coef_, model.intercept_, strict=True)]
    assert model.binary_decisions(row)[0] == pytest.approx(by_hand)
    of_classes = class_decisions(np.array([by_hand]), model.pairs_, len(model.classes_))[0]
    assert np.ravel(model.decision_function(row)) == pytest.approx(of_classes)
    winner = int(of_classes[0] > 0) if len(of_classes) == 1 else int(np.argmax(of_classes))
    assert model.predict(row)[0] == model.classes_[winner]


@pytest.mark.parametrize(
    ("names", "expected", "kind"),
    [
        (("0", "1"), [0, 1], "i"),
        (("-1", "1"), [-1, 1], "i"),
        (("1", "2", "10"), [1, 2, 10], "i"),
        (("1.5", "2"), ["1.5", "2"], "U"),
        (("01", "1"), ["01", "1"], "U"),
        (("1", "benign"), ["1", "benign"], "U"),
        (("1", "99999999999999999999"), ["1", "99999999999999999999"], "U"),
    ],
)
def test_classes_are_integers_if_all_are_written_so(
    names: tuple[str, ...], expected: list[Any], kind: str
) -> None:
    classes = make_model(names).classes_
    assert classes.tolist() == expected
    assert classes.dtype.kind == kind


@pytest.mark.parametrize(
    ("pairs", "weights", "columns"),
    [
        *(
            (pairs, len(pairs), None)
            for pairs in (one_versus_one(3), (Pair(0, 1),) * 4, (), one_versus_all(4)[::-1])
        ),
        *((one_versus_all(4), 3, None), (one_versus_all(4), 4, 3), (one_versus_one(4), 6, 6)),
        (one_versus_all(4), 4, 1),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(
    pairs: tuple[Pair, ...], weights: int, columns: int | None
) -> None:
    calibration = Calibration(np.ones(columns), np.zeros(columns)) if columns else None
    model = make_model()
    coef, schema = np.zeros((weights, model.feature_map_.rank + 1)), Schema(COLUMNS, ("a", "b", "c", "d"))
    with pytest.raises(ValueError, match=r"weights|classes"):
        PanSVC.from_parts(schema, model.scaling_, model.feature_map_, coef, pairs, calibration)


def test_without_calibration_there_are_no_probabilities() -> None:
    for model in (make_model(), make_model(("a", "b", "c")), PanSVC()):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba") as caught:
            model.predict_proba(make_rows())
        assert "--probability true" in str(caught.value.__cause__)


@pytest.mark.parametrize("model", CALIBRATED, ids=described)
def test_probabilities_are_the_sigmoids_of_the_class_decisions(model: PanSVC) -> None:
    X = make_rows(50)
    X.iloc[2, 1] = np.nan
    calibration: Calibration = model.calibration_
    decisions = model.decision_function(X).reshape(50, -1)
    sigmoids = expit(decisions * calibration.slopes + calibration.intercepts)
    if len(model.classes_) == 2:
        by_hand = np.column_stack([1 - sigmoids, sigmoids])
    else:
        by_hand = sigmoids / sigmoids.sum(axis=1, keepdims=True)
    found = model.predict_proba(X)
    assert found.shape == (50, len(model.classes_))
    assert found == pytest.approx(by_hand)
    assert found.sum(axis=1) == pytest.approx(np.ones(50))


def test_missing_cells_are_filled_with_the_federated_mean() -> None:
    model, X = make_model(), make_rows()
    X.iloc[3, 1], X.iloc[4] = np.nan, np.nan
    filled = X.fillna(dict(zip(COLUMNS, model.scaling_.fill, strict=True)))
    assert (model.decision_function(X) == model.decision_function(filled)).all()


def test_columns_are_checked() -> None:
    model, X = make_model(), make_rows()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[list(reversed(COLUMNS))])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (model.predict(X.to_numpy()) == model.predict(X)).all()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((2, 4)),
        np.zeros((2, 2)),
        np.zeros(3),
        np.zeros((0, 3)),
        [[0.0, np.inf, 0.0]],
        [["a", "b", "c"]],
    ],
)
def test_rows_that_do_not_fit_are_a_value_error(X: Any, method: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn's own, each with its words
        getattr(make_model(), method)(X)


def test_an_object_without_its_parts_is_not_fitted() -> None:
    for empty in (PanSVC(), clone(make_model())):
        with pytest.raises(NotFittedError):
            empty.predict(make_rows())
    with pytest.raises(TrainingError, match="FrozenEstimator"):
        make_model().fit(make_rows(), np.zeros(30))


@pytest.mark.parametrize("classes", [("0", "1"), ("a", "b", "c")])
def test_scikit_learns_tools_work_on_it(classes: tuple[str, ...]) -> None:
    model, X = make_model(classes), make_rows(60)
    model.intercept_ = model.intercept_ - np.median(model.binary_decisions(X), axis=0)
    assert set(model.predict(X)) == set(model.classes_)
    y = np.where(np.random.default_rng(0).random(60) < 0.8, model.predict(X), model.classes_[0])
    assert get_scorer("balanced_accuracy")(model, X, y) > 0.5
    assert permutation_importance(model, X, y, n_repeats=2, random_state=0).importances.shape == (3, 2)
    scores = cross_val_score(FrozenEstimator(model), X, y, cv=3)
    assert scores.mean() == pytest.approx(model.score(X, y))
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)
    assert calibrated.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(60))
    if len(classes) == 2:
        assert get_scorer("roc_auc")(model, X, y) > 0.5


def test_any_number_of_rows_is_decided_as_each_row_alone() -> None:
    model, X = make_model(("a", "b", "c")), make_rows(2 * BLOCK + 1)
    together = model.decision_function(X)
    assert together.shape == (2 * BLOCK + 1, 3)
    some = [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK]
    assert together[some] == pytest.approx(model.decision_function(X.iloc[some]), rel=1e-9, abs=1e-9)


def test_a_pickled_copy_decides_the_same() -> None:
    model, X = make_model(), make_rows()
    copy = pickle.loads(pickle.dumps(model))
    assert copy.sha256() == model.sha256()
    assert (copy.decision_function(X) == model.decision_function(X)).all()


@pytest.mark.parametrize("model", MODELS, ids=described)
def test_a_saved_model_comes_back_bit_for_bit(model: PanSVC, tmp_path: Path) -> None:
    model.save(tmp_path / "model.npz")
    loaded = PanSVC.load(str(tmp_path / "model.npz"))
    assert loaded.pairs_ == model.pairs_
    assert hasattr(loaded, "predict_proba") == hasattr(model, "predict_proba")
    if model.calibration_:
        assert (loaded.predict_proba(make_rows()) == model.predict_proba(make_rows())).all()
    assert loaded.sha256() == model.sha256()
    assert (loaded.decision_function(make_rows()) == model.decision_function(make_rows())).all()
    assert (loaded.schema_, loaded.feature_map_.kernel) == (model.schema_, model.feature_map_.kernel)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    loaded.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "model.npz").read_bytes()


def test_the_digest_tells_models_apart() -> None:
    pairs, calibration = one_versus_one(3), Calibration(np.ones(3), np.zeros(3))
    changed = make_model()
    changed.intercept_ = np.nextafter(changed.intercept_, 9)
    models = [*MODELS, changed, make_model(seed=1), make_model(kernel=Kernel("rbf", 0.51))]
    models += [make_model(("a", "b", "c"), pairs=own) for own in (None, pairs)]
    models += [make_model(("a", "b", "c"), pairs=own, calibration=calibration) for own in (None, pairs)]
    assert len({model.sha256() for model in models}) == len(models)
    assert make_model().sha256() == MODELS[0].sha256()


def load(folder: Path, content: bytes) -> PanSVC:
    path = folder / "tampered.npz"
    path.write_bytes(content)
    return PanSVC.load(path)


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_truncated_file_is_a_model_file_error(saved: bytes, folder: Path, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(saved) - 1))
    with pytest.raises(ModelFileError, match=r"tampered\.npz"):
        load(folder, saved[:length])


@settings(deadline=None, max_examples=400)
@given(data=st.data())
@pytest.mark.slow
def test_flipped_bits_never_change_a_model_unnoticed(saved: bytes, folder: Path, data: st.DataObject) -> None:
    content = bytearray(saved)
    flips = st.tuples(st.integers(0, len(saved) - 1), st.integers(1, 255))
    for place, flip in data.draw(st.lists(flips, min_size=1, max_size=3, unique_by=lambda pair: pair[0])):
        content[place] ^= flip
    try:
        loaded = load(folder, bytes(content))
    except ModelFileError as error:
        assert "tampered.npz" in str(error)  # noqa: PT017 - a flip in a time stamp of the archive does no harm
    else:
        assert loaded.sha256() == MODELS[0].sha256()


def arrays_of(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content)) as file:
        return {name: file[name] for name in file.files}


def as_file(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def signed(arrays: dict[str, Any]) -> bytes:
    """Return the file with a digest that fits, as a forger would write it."""
    digest = hashlib.sha256()
    parts = {name: np.asarray(value) for name, value in arrays.items() if name not in ("format", "sha256")}
    for name, array in sorted(parts.items()):
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode() + array.tobytes())
    return as_file({**arrays, "sha256": np.array(digest.hexdigest())})


def test_the_forgers_digest_is_the_right_one(saved: bytes, folder: Path) -> None:
    assert load(folder, signed(arrays_of(saved))).sha256() == MODELS[0].sha256()


PARTS = (
    *("kind", "columns", "classes", "positive_labels", "fill", "shift", "scale", "kernel", "gamma"),
    *("landmarks", "normalization", "coef", "intercept", "pairs", "calibration"),
)


@pytest.mark.parametrize("part", PARTS)
def test_a_missing_or_changed_part_is_a_model_file_error(part: str, saved: bytes, folder: Path) -> None:
    arrays = arrays_of(saved)
    assert set(PARTS) | {"format", "sha256"} == set(arrays)
    lacking = {name: value for name, value in arrays.items() if name != part}
    for content in (as_file(lacking), as_file({**arrays, part: np.array(["x"])})):
        with pytest.raises(ModelFileError, match="digest"):
            load(folder, content)
    with pytest.raises(ModelFileError):
        load(folder, signed(lacking))


CANNOT_BE: dict[str, list[Any]] = {
    "columns": ["age"],
    "kernel": ["sigmoid"],
    "gamma": [-1.0, np.nan, np.inf, [1.0, 2.0], "a"],
    "intercept": [np.zeros(7)],
    "pairs": [[[0, -1]], [[1, -1], [0, -1]], [1, -1], [["one", "rest"]]],
    "calibration": [np.zeros((2, 2)), np.zeros(2), np.zeros((3, 1)), [[np.nan], [0.0]], [["a"], ["b"]]],
}


@pytest.mark.parametrize(
    ("part", "value"), [(part, value) for part in CANNOT_BE for value in CANNOT_BE[part]]
)
def test_a_part_that_cannot_be_is_a_model_file_error(
    part: str, value: Any, saved: bytes, folder: Path
) -> None:
    with pytest.raises(ModelFileError):
        load(folder, signed({**arrays_of(saved), part: np.array(value)}))


@pytest.mark.parametrize("version", [1, 3, [4, 4], "new", None])
def test_another_format_is_a_model_file_error(version: Any, saved: bytes, folder: Path) -> None:
    arrays = arrays_of(saved)
    del arrays["format"]
    with pytest.raises(ModelFileError, match="format"):
        load(folder, as_file(arrays if version is None else {**arrays, "format": np.array(version)}))


def npy(array: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"age,dose\n1,2\n",
        npy(np.zeros(3)),
        pickle.dumps({"format": 1}),
        archive("readme.txt", b"no array"),
        archive("format.npy", npy(np.array(1))[:-4]),
        archive("format.npy", pickle.dumps(1)),
        as_file({"x": np.zeros(3)}),
        as_file({"format": np.array([{}], dtype=object)}),
    ],
    ids=["empty", "csv", "npy", "pickle", "zip", "cut array", "pickled array", "other npz", "object array"],
)
def test_what_is_no_model_is_a_model_file_error(content: bytes, folder: Path) -> None:
    with pytest.raises(ModelFileError, match=r"tampered\.npz"):
        load(folder, content)


class Payload:
    """What a pickle may do to whoever opens it; here it only leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def test_code_in_a_model_file_is_not_run(folder: Path, saved: bytes) -> None:
    mark = folder / "mark"
    harmful = np.empty(1, dtype=object)
    harmful[0] = Payload(mark)
    for part in ("format", "coef", "unexpected"):
        content = as_file({**arrays_of(saved), part: harmful})
        with pytest.raises(ModelFileError):
            load(folder, content)
    assert not mark.exists()
    np.load(io.BytesIO(content), allow_pickle=True)["unexpected"]
    assert mark.exists(), "the payload works where pickles are allowed"
