"""Settings: a wrong name or value is told at once, by name."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.constraints import setting, text
from flower_pansvm.errors import SettingError
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.protocols.k_secure import KSecure
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.terms import Scalar, Terms
from strategies.pan_svm.strategy import PanSVM
from strategies.registry import STRATEGIES
from strategies.settings import (
    Settings,
    all_settings,
    default_config,
    make_settings,
    owners,
    settings_from,
    term,
)
from strategies.strategy import PhasedStrategy
from strategies.svm_settings import PanSvmSettings

ROOT = Path(__file__).parents[2]

COUNTS = ("sites", "min-sites", "min-cluster", "seed", "k", "colluders", "steps", "frequencies")
BAD: list[tuple[str, Scalar]] = [
    ("strategy", "pan-svn"),
    ("test-epsilon", 21),
    ("step", "0"),
    ("step", "1:2:3"),
    ("features", "some"),
    ("features", "2.5"),
    *[("filters", value) for value in ("fisher=p=0.01", "75%", "fisher=2,fisher=3", "f=2")],
    ("kernel", "sigmoid"),
    ("scaling", "robust"),
    ("privacy", "private"),
    ("noise", 0.3),
    ("noise", 0),
    ("search", "paper"),
    ("multi-class", "ova"),
    ("class-weight", "even"),
    ("class-weight", "1,0"),
    ("ssvd-order", "first"),
    ("share-threshold", "third"),
    *[
        (name, value)
        for name in ("C", "C-total", "C-random-kernel", "tol", "timeout", "gamma")
        for value in (0, -1, "nan", "inf", "much")
    ],
    *[(name, f"1,{value}") for name in ("C", "gamma") for value in (0, -4, "nan", "inf", "much", "", "4;16")],
    *[
        (name, value)
        for name in (*COUNTS, "cv-folds", "random-kernel-rows")
        for value in (2.5, "nan", "inf", "-inf", "two", True, "1e400")
    ],
    *[(name, -1) for name in COUNTS],
    *[(name, value) for name in ("epsilon", "delta") for value in (0, -1, "nan", "inf", "much", 21)],
    ("sites", 1),
    ("min-sites", 1),
    ("min-cluster", 0),
    ("cv-folds", 1),
    ("seed", 2**32),
    *[("risk-bounds", value) for value in (-0.1, 1.1, "nan", "0.5,2", "0.5;0.4", "")],
    *[("test-fraction", value) for value in (-0.1, 1, 1.5, "nan", "inf", "half")],
    *[("landmarks", value) for value in (0, -3, 2.5, -0.5, "nan", "inf", "all", 1.0, "1.0")],
    *[(name, value) for name in ("resume", "audit", "probability") for value in (2, "yes", "", 0.5)],
]
FREE_TEXT = {
    *(
        "data",
        "label",
        "positive",
        "split",
        "data-dir",
        "out",
        "aggregation",
        "public",
        "schema",
        "drop",
        "by",
    )
}
"""What these name is looked up elsewhere: data, files, columns and protocols."""


def with_owner(config: dict[str, Scalar]) -> dict[str, Scalar]:
    """Return a run config with a strategy or a secure sum that has its settings."""
    first = [*owners(next(iter(config))), "pan-svm"][0]
    return {"aggregation" if first in PROTOCOLS else "strategy": first, **config}


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_refused_by_name(name: str, value: Scalar) -> None:
    with pytest.raises(SettingError, match=rf"\b{name}\b.*{value}"):
        settings_from(with_owner({name: value}))


@pytest.mark.parametrize("name", sorted(default_config().keys() - FREE_TEXT))
def test_every_setting_but_free_text_refuses_nonsense(name: str) -> None:
    with pytest.raises(SettingError, match=rf"\b{name}\b.*no value"):
        settings_from(with_owner({name: "no value"}))


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("C", 10, 10.0),
        ("C", "auto", "auto"),
        ("gamma", "auto", "auto"),
        ("C", "1e-2", 0.01),
        ("sites", 3.0, 3),
        ("seed", 2**32 - 1, 2**32 - 1),
        ("probability", "False", False),
        ("probability", True, True),
        ("gamma", 0.5, "0.5"),
        ("landmarks", 0.25, "0.25"),
        ("landmarks", 40, "40"),
        ("label", 7, "7"),
        ("test-fraction", 0, 0.0),
    ],
)
def test_a_value_takes_the_type_of_its_setting(name: str, value: Scalar, kept: Scalar) -> None:
    found = settings_from({name: value}).to_config()[name]
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("name", "suggested"), [("gama", "gamma"), ("min_cluster", "min-cluster"), ("site", "sites"), ("c", "C")]
)
def test_an_unknown_name_is_told_with_its_near_matches(name: str, suggested: str) -> None:
    with pytest.raises(SettingError, match=f"no setting '{name}'.*{suggested}"):
        settings_from({name: 1})


def test_the_defaults_are_those_of_the_flower_app() -> None:
    app = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    ours = default_config()
    assert app == ours
    assert {name: type(value) for name, value in app.items()} == {
        name: type(value) for name, value in ours.items()
    }


def test_settings_survive_the_run_config() -> None:
    changed = make_settings(
        C=3.5, min_cluster=1, probability=True, gamma="0.25", landmarks="30", positive="a, b"
    )
    chosen_later = make_settings(C="1,1e3", gamma="0.5,0.5", privacy="exact", noise=0.5)
    selecting = make_settings(strategy="filter-wrapper", step="90:0.5,1", features=7, filters="welch=40%")
    for settings in (changed, chosen_later, selecting, make_settings()):
        assert settings_from(settings.to_config()) == settings
    assert all("_" not in name for name in changed.to_config())
    assert list(changed.to_config()) == list(default_config())


def test_what_is_not_to_be_chosen_is_tried_at_its_one_value() -> None:
    assert not make_settings().tunes
    both = make_settings(C="4,1,4", gamma="0.5,0.1")
    assert both.tunes
    assert (both.C_values, both.gamma_values(0.02)) == ((1.0, 4.0), (0.1, 0.5))
    assert make_settings(C="auto", gamma="0.3").gamma_values(0.02) == (0.3,)
    assert make_settings(C="auto").gamma_values(0.02) == (0.02,)
    assert make_settings(C=3.0, gamma="auto").C_values == (3.0,)
    # A linear kernel has no gamma to choose.
    assert len(make_settings(kernel="linear", C="auto", gamma="auto").gamma_values(0.02)) == 1
    assert not make_settings(kernel="linear", gamma="auto").tunes
    # The grid is around scale, and short to write.
    assert make_settings(gamma="auto").gamma_values(1 / 30) == (0.002083, 0.008333, 0.03333, 0.1333)


@pytest.mark.parametrize(
    ("config", "folds"),
    [
        ({}, 0),
        ({"kernel": "linear", "gamma": "auto"}, 0),
        *(({name: "auto"}, 7) for name in ("C", "gamma")),
        ({"probability": True}, 7),
        ({"strategy": "voted-wrapper"}, 7),
    ],
)
def test_rows_are_dealt_to_folds_only_where_something_needs_them(config: dict[str, Any], folds: int) -> None:
    assert make_settings(cv_folds=7, **config).folds == folds


def test_positive_labels(tmp_path: Path) -> None:
    assert make_settings().positive_labels == ()
    assert make_settings(positive=" 3, 4 ,,malignant").positive_labels == ("3", "4", "malignant")
    (tmp_path / "schema.toml").write_text("positive = ['1.0', 3]\n[columns.age]\n")
    of_file = make_settings(schema=str(tmp_path / "schema.toml"))
    assert of_file.positive_labels == ("1", "3")
    assert replace(of_file, positive="2").positive_labels == ("2",)


@pytest.mark.parametrize(
    ("landmarks", "rows", "count"),
    [
        *(("auto", rows, count) for rows, count in ((3, 1), (100, 25), (103, 25), (100_000, 500))),
        *(("0.5", 9, 4), ("0.001", 9, 1), ("40", 40, 40), ("1", 40, 1), ("1e2", 150, 100)),
    ],
)
def test_landmark_count(landmarks: str, rows: int, count: int) -> None:
    assert make_settings(landmarks=landmarks).landmark_count(rows) == count


def test_more_landmarks_than_rows_are_an_error() -> None:
    with pytest.raises(SettingError, match="landmarks"):
        make_settings(landmarks="41").landmark_count(40)


@given(st.one_of(st.just("auto"), st.floats(1e-6, 0.999).map(str)), st.integers(1, 10**7))
def test_a_share_always_asks_for_a_possible_number_of_landmarks(landmarks: str, rows: int) -> None:
    assert 1 <= make_settings(landmarks=landmarks).landmark_count(rows) <= rows


@given(
    st.sampled_from(list(default_config())),
    st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.booleans()),
)
def test_any_value_is_either_taken_or_refused_by_a_setting_error(name: str, value: Scalar) -> None:
    try:
        settings = settings_from(with_owner({name: value}))
    except SettingError as error:
        assert ("secure sum" if name == "aggregation" else name) in str(error)  # noqa: PT017 - either outcome is right, in its way
    else:
        assert settings_from(settings.to_config()) == settings


@pytest.mark.parametrize(
    ("name", "value", "whose"),
    [
        ("filters", "welch=50%", "filter-wrapper"),
        ("k", 3, "k-secure, k-secure-hops"),
        ("features", "no number", "filter-wrapper, rsvm, svm-rfe, svm-t, voted-wrapper"),
    ],
)
def test_a_setting_of_another_strategy_is_refused_with_whose_it_is(
    name: str, value: Scalar, whose: str
) -> None:
    told = f"'{name}' is a setting of {whose}, and the strategy is pan-svm, the secure sum plain"
    with pytest.raises(SettingError, match=told):
        settings_from({"strategy": "pan-svm", "aggregation": "plain", name: value})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_defaults_of_other_strategies_are_let_pass_however_they_are_written(strategy: str) -> None:
    written = {"strategy": strategy, "k": "0.0", "filters": "welch=p=0.01"}
    assert settings_from({**default_config(), **written}) == make_settings(strategy=strategy)


def test_two_strategies_cannot_make_a_setting_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class OtherSettings(Settings):
        tol: str = setting("much", text(), "Something else.")

    class Other(PanSVM):
        settings_class = OtherSettings  # type: ignore[assignment]

    monkeypatch.setattr(STRATEGIES, "data", {**STRATEGIES.data, "other": Other})
    with pytest.raises(SettingError, match="'tol'"):
        all_settings()


def test_a_strategy_without_settings_of_its_own_has_those_of_every_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Bare(PhasedStrategy): ...

    monkeypatch.setattr(STRATEGIES, "data", {**STRATEGIES.data, "bare": Bare})
    assert type(settings_from({**default_config(), "strategy": "bare"})) is Settings
    with pytest.raises(SettingError, match="'C'"):
        settings_from({"strategy": "bare", "C": 2})


def test_strategies_may_share_a_term_of_the_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class OtherSettings(Settings):
        kernel: str = term("kernel")

    class Other(PanSVM):
        settings_class = OtherSettings  # type: ignore[assignment]

    monkeypatch.setattr(STRATEGIES, "data", {**STRATEGIES.data, "other": Other})
    assert {"other", "pan-svm"} <= set(owners("kernel"))
    found = settings_from({"strategy": "other", "kernel": "linear"})
    assert (type(found), found.terms.kernel) == (OtherSettings, "linear")
    with pytest.raises(SettingError, match="'landmarks'"):
        settings_from({"strategy": "other", "landmarks": 10})


@pytest.mark.parametrize(
    "written",
    [
        {"C": "4, 1,4", "step": "auto"},
        {"landmarks": "1e1", "gamma": "0.50", "tol": "1e-3", "sites": 5.0},
        {"probability": "True", "strategy": "svm-rfe", "step": " auto ", "features": " auto"},
        {"strategy": "filter-wrapper", "filters": " welch = p=0.010"},
        {"aggregation": "k-secure", "k": "3.0"},
    ],
    ids=str,
)
def test_both_ends_make_the_same_digest_of_the_run_config_to_the_letter(written: dict[str, Scalar]) -> None:
    """The sites read the run config as Flower hands it out, the coordinator parses it first."""
    config = {**default_config(), **written}
    ours, theirs = settings_from(config).terms, Terms.from_config(config)
    assert ours == theirs
    assert ours.digest == theirs.digest


def test_a_protocol_has_its_own_options() -> None:
    found = settings_from({"aggregation": "k-secure", "k": "3"})
    assert found.protocol == KSecure(k=3)
    assert protocol_of(found.terms) == found.protocol
    config = found.to_config()
    assert (config["aggregation"], config["k"]) == ("k-secure", 3)
    assert make_settings(aggregation="k-secure", k=3) == found


def test_the_published_search_says_what_else_is_published() -> None:
    def unpublished(**config: Any) -> list[str]:
        settings = make_settings(**config)
        assert isinstance(settings, PanSvmSettings)
        return settings.unpublished

    published = {"search": "published", "privacy": "exact", "scaling": "minmax", "min_cluster": 1}
    assert unpublished() == unpublished(scaling="none") == []
    assert unpublished(search="published") == ["privacy=exact", "scaling=minmax", "min-cluster=1"]
    assert unpublished(**published) == []
    assert unpublished(**published, multi_class="ovo") == ["multi-class=ovr"]


# Levels


def test_the_level_is_dp_where_there_is_a_proof_and_else_perturbed_unless_exact_is_asked_for() -> None:
    levels = {name: make_settings(strategy=name).level for name in STRATEGIES}
    assert {name for name, level in levels.items() if level == "dp"} == {"dp-svm"}
    assert set(levels.values()) == {"dp", "perturbed"}
    assert make_settings(privacy="exact").level == "exact"
    for name in ("private-svm", "hybrid-svm"):
        assert make_settings(strategy=name, privacy="dp").level == "dp"


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        ({"privacy": "dp"}, "strategy=dp-svm.*or privacy=perturbed"),
        ({"privacy": "dp", "strategy": "svm-rfe"}, "strategy=dp-svm.*or privacy=perturbed"),
        ({"privacy": "exact", "strategy": "dp-svm"}, "Leave privacy out, or choose another strategy"),
    ],
)
def test_a_level_that_the_strategy_does_not_have_is_refused_with_what_to_choose(
    config: dict[str, Scalar], remedy: str
) -> None:
    with pytest.raises(SettingError, match=remedy):
        settings_from(config)
    assert settings_from({**config, "privacy": "auto"}).level != config["privacy"]


def test_names_are_a_list_or_a_text_with_commas() -> None:
    settings = make_settings(positive=["severe, acute", "1"], drop=("mrn", "ward"))
    assert settings.positive_labels == ("severe, acute", "1")
    assert settings.drop == "mrn,ward"
    assert make_settings(positive=[2, 3]).positive_labels == ("2", "3")
    assert make_settings(positive="a,b").positive_labels == ("a", "b")
    assert settings_from(settings.to_config()).positive_labels == settings.positive_labels


@pytest.mark.parametrize("key", ["label", "data", "schema", "split", "out", "strategy", "public"])
@pytest.mark.parametrize("value", [["a", "b"], None, {"a": 1}], ids=str)
def test_what_is_no_text_is_not_made_one(key: str, value: object) -> None:
    """A list became the text "('a', 'b')", and a label column of that name was looked for."""
    with pytest.raises(SettingError, match=key):
        make_settings(**{"strategy": "private-svm", key: value})
