"""Settings: a wrong name or value is told at once, by name."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.errors import SettingError
from flower_pansvm.settings import Scalar, Settings, check_choice, near_matches

ROOT = Path(__file__).parents[2]

BAD: list[tuple[str, Scalar]] = [
    ("strategy", "pan-svn"),
    ("execution", "two-shot"),
    ("kernel", "sigmoid"),
    ("scaling", "robust"),
    *[(name, value) for name in ("C", "tol", "timeout", "gamma") for value in (0, -1, "nan", "inf", "much")],
    ("gamma", "auto"),
    *[
        (name, value)
        for name in ("sites", "min-sites", "min-cluster", "points", "degree", "seed", "k", "key-bits")
        for value in (2.5, "nan", "inf", "-inf", "two", True, "1e400")
    ],
    *[(name, -1) for name in ("sites", "min-sites", "min-cluster", "points", "degree", "seed", "k")],
    ("sites", 1),
    ("min-sites", 1),
    ("min-cluster", 0),
    ("points", 0),
    ("degree", 0),
    ("seed", 2**32),
    *[("coef0", value) for value in (-0.5, "nan", "inf", "none")],
    *[("test-fraction", value) for value in (-0.1, 1, 1.5, "nan", "inf", "half")],
    *[("landmarks", value) for value in (0, -3, 2.5, -0.5, "nan", "inf", "all")],
    *[(name, value) for name in ("warm-start", "resume") for value in (2, "yes", "", 0.5)],
]
FREE_TEXT = {"data", "label", "positive", "split", "data-dir", "out", "aggregation"}
"""What these name is looked up elsewhere: data, files and protocols. Paillier knows the least key-bits."""


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_refused_by_name(name: str, value: Scalar) -> None:
    with pytest.raises(SettingError, match=rf"\b{name}\b.*{value}"):
        Settings.from_config({name: value})


def test_every_setting_has_a_bad_value_above_or_is_free_text() -> None:
    assert {name for name, _ in BAD} | FREE_TEXT == set(Settings().to_config())


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("C", 10, 10.0),
        ("C", "1e-2", 0.01),
        ("sites", 3.0, 3),
        ("seed", 2**32 - 1, 2**32 - 1),
        ("warm-start", "False", False),
        ("warm-start", True, True),
        ("gamma", 0.5, "0.5"),
        ("landmarks", 0.25, "0.25"),
        ("landmarks", 40, "40"),
        ("label", 7, "7"),
        ("test-fraction", 0, 0.0),
    ],
)
def test_a_value_takes_the_type_of_its_setting(name: str, value: Scalar, kept: Scalar) -> None:
    found = Settings.from_config({name: value}).to_config()[name]
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("name", "suggested"), [("gama", "gamma"), ("min_cluster", "min-cluster"), ("site", "sites"), ("c", "C")]
)
def test_an_unknown_name_is_told_with_its_near_matches(name: str, suggested: str) -> None:
    with pytest.raises(SettingError, match=f"no setting '{name}'.*{suggested}"):
        Settings.from_config({name: 1})


def test_an_unknown_choice_is_told_with_its_near_matches() -> None:
    with pytest.raises(SettingError, match=r"no kernel 'rfb'.*Did you mean 'rbf'"):
        Settings(kernel="rfb")
    with pytest.raises(SettingError, match="Choose one of: a, b"):
        check_choice("letter", "zzz", ("b", "a"))
    assert near_matches("sites", ["sites", "min-sites"]).startswith("Did you mean 'sites'")


def test_the_defaults_are_those_of_the_flower_app() -> None:
    app = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    ours = Settings().to_config()
    assert app == ours
    assert {name: type(value) for name, value in app.items()} == {
        name: type(value) for name, value in ours.items()
    }


def test_settings_survive_the_run_config() -> None:
    changed = Settings(C=3.5, min_cluster=1, warm_start=False, gamma="0.25", landmarks="30", positive="a, b")
    assert Settings.from_config(changed.to_config()) == changed
    assert Settings.from_config(Settings().to_config()) == Settings()
    assert all("_" not in name for name in changed.to_config())
    assert len(changed.to_config()) == len(fields(Settings))


def test_positive_labels() -> None:
    assert Settings().positive_labels == ()
    assert Settings(positive=" 3, 4 ,,malignant").positive_labels == ("3", "4", "malignant")


@pytest.mark.parametrize(
    ("landmarks", "rows", "count"),
    [
        ("auto", 100, 25),
        ("auto", 103, 25),
        ("auto", 100_000, 500),
        ("auto", 3, 1),
        ("0.5", 9, 4),
        ("0.001", 9, 1),
        ("40", 40, 40),
        ("1", 40, 1),
        ("1e2", 150, 100),
    ],
)
def test_landmark_count(landmarks: str, rows: int, count: int) -> None:
    assert Settings(landmarks=landmarks).landmark_count(rows) == count


def test_more_landmarks_than_rows_are_an_error() -> None:
    with pytest.raises(SettingError, match=r"landmarks is 41.*40 rows"):
        Settings(landmarks="41").landmark_count(40)


@given(st.one_of(st.just("auto"), st.floats(1e-6, 0.999).map(str)), st.integers(1, 10**7))
def test_a_share_always_asks_for_a_possible_number_of_landmarks(landmarks: str, rows: int) -> None:
    assert 1 <= Settings(landmarks=landmarks).landmark_count(rows) <= rows


@given(
    st.sampled_from([field.name.replace("_", "-") for field in fields(Settings)]),
    st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.booleans()),
)
def test_any_value_is_either_taken_or_refused_by_a_setting_error(name: str, value: Scalar) -> None:
    try:
        settings = Settings.from_config({name: value})
    except SettingError as error:
        assert name in str(error)  # noqa: PT017 - either outcome is right, in its way
    else:
        assert Settings.from_config(settings.to_config()) == settings
