"""The settings of a run: those that every strategy has, and how a run config becomes a strategy's settings.

They are the keys of Flower's run config (``[tool.flwr.app.config]``, ``flwr run --run-config``) and of
``pansvm run --set``. What a setting may be and what it means stands beside it; ``docs/settings.md`` has all.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from flower_pansvm.constraints import key_of, near_matches, number, parse, read, setting, whole
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import canonical_label
from flower_pansvm.lists import listed
from flower_pansvm.privacy.accountant import LARGEST_EPSILON
from flower_pansvm.secure_sum import PROTOCOLS, protocol_of
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar, Terms
from strategies.constraints import flag, names, number_text, text
from strategies.registry import STRATEGIES


def term(name: str, owner: type = Terms) -> Any:
    """Return the field of a setting that the sites read too, or another owner's: it is the same one."""
    (found,) = (one for one in fields(owner) if one.name == name)
    return field(default=found.default, metadata=found.metadata)


SEPARATOR = "|"
"""Between the files in the setting ``data``. Windows forbids it in file names, elsewhere it is all but unused, and it
means nothing within the quotes of a run config: ``--run-config "data='/a/north.csv|/a/south.csv'"``."""


@dataclass(frozen=True)
class Settings:
    """The settings that every strategy has. A strategy's own are a subclass, beside its algorithm.

    Values may be given as a user writes them, ``landmarks="auto"``; the fields hold them in their own types.

    Raises
    ------
    SettingError
        If a value cannot work.
    """

    data: str = setting(
        "breast_cancer", text(), "Data set or file of the simulated sites; a hospital names its own table."
    )
    label: str = setting("", text(), "Label column; by default the schema's, or 'label'.")
    schema: str = setting(
        "",
        text(),
        "Schema file: what all sites have agreed on of their columns, and the public ranges; an absolute path.",
    )
    drop: str = setting("", names(), "Columns of the simulated sites' tables to leave out, by commas.")
    positive: str = setting("", names(), "Labels that count as positive, by commas; by default the schema's.")
    split: str = setting(
        "iid",
        text(),
        "Rows over simulated sites: iid, dirichlet:ALPHA, dirichlet:ALPHA:ROWS, quantity:ALPHA, quantity:ALPHA:ROWS, "
        "feature:COLUMN, by:COLUMN or checkerboard:RxS.",
    )
    sites: int = setting(5, whole(2), "Number of sites.")
    data_dir: str = setting("", text(), "Folder of data sets; by default $PANSVM_DATA.")
    strategy: str = setting("pan-svm", text(), "What is trained: the name of a strategy.")
    privacy: str = term("privacy")
    noise: float = term("noise")
    test_epsilon: float = setting(
        0.0,
        number(least=0, most=LARGEST_EPSILON),
        "Epsilon of a test on true records at level perturbed; 0 for a test on their copies.",
    )
    by: str = setting(
        "",
        text(),
        "Subgroups to be told of: a category or yes/no column, numbers and where groups begin, age:50,70, or site.",
    )
    colluders: int = term("colluders")
    rows_per_patient: int = term("rows_per_patient")
    min_sites: int = term("min_sites")
    test_fraction: float = setting(
        0.2, number(least=0, below=1), "Share of each site's rows that is kept for evaluation."
    )
    # scikit-learn's k-means takes no larger seed.
    seed: int = setting(0, whole(0, 2**32 - 1), "Seed of the splits and of k-means.")
    timeout: float = setting(600.0, number(above=0), "Seconds to wait for the sites in one round trip.")
    out: str = setting("", text(), "Folder for the results, an absolute path; by default runs/RUN_ID.")
    resume: bool = setting(False, flag(), "Continue from the checkpoint of a stopped run in the folder.")
    audit: bool = setting(False, flag(), "Keep what the sites were asked, for 'pansvm run --audit'.")
    # The secure sum with its options; in the run config ``aggregation`` is its name, and each option has a key.
    protocol: SecureSum = field(default_factory=Ring)
    # The run config that they were read from, if they were.
    given: Mapping[str, Scalar] | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        parse(self)

    @classmethod
    def common(cls, config: Mapping[str, Scalar]) -> Self:
        """Return the settings common to all strategies."""
        return cls(**{one.name: config[key] for key, one in setting_fields(cls).items() if key in config})  # type: ignore[arg-type]

    def to_config(self) -> dict[str, Scalar]:
        """Return the run config with these settings, and all that other strategies have at their defaults."""
        own = _config_of(self) | _config_of(self.protocol)
        return {**default_config(), **own, "aggregation": self.aggregation}

    @property
    def dp(self) -> bool:
        """Whether all answers of hospitals are differentially private."""
        return False

    @property
    def level(self) -> str:
        """Which records the sites' answers are made of: ``exact``, ``perturbed`` or ``dp`` (`Terms.privacy`)."""
        if self.dp:
            return "dp"
        return "perturbed" if self.privacy == "auto" else self.privacy

    @property
    def aggregation(self) -> str:
        """The name of the secure sum."""
        return self.protocol.name

    @property
    def run_config(self) -> dict[str, Scalar]:
        """The run config as every site has it, to the letter: digests are made of it at both ends."""
        return self.to_config() if self.given is None else dict(self.given)

    @property
    def terms(self) -> Terms:
        """What the sites read of the settings."""
        return Terms.from_config(self.run_config)

    @property
    def positive_labels(self) -> tuple[str, ...]:
        """The labels named in ``positive``, or else in the schema file; empty if the classes are the labels."""
        if self.schema and not self.positive:
            return TableSchema.read(Path(self.schema)).positive
        return tuple(canonical_label(label) for label in listed(self.positive) if label)

    @property
    def tunes(self) -> bool:
        """Whether hyperparameters are to be chosen by cross-validation."""
        return False

    @property
    def selects(self) -> bool:
        """Whether the strategy selects features."""
        return False

    @property
    def folds(self) -> int:
        """Folds that the sites deal their training rows to; 0 if nothing needs them."""
        return 0


def settings_from(config: Mapping[str, Scalar]) -> Settings:
    """Return the settings of the strategy that a run config names.

    Parameters
    ----------
    config : mapping
        The run config: names with ``-``, what is missing at its default. Flower's holds the settings of all strategies;
        those of others have to be at their defaults.

    Raises
    ------
    SettingError
        If a name is unknown (the near matches are named) or a setting of another strategy, or a value cannot work.

    Examples
    --------
    >>> settings_from({"C": 10, "min-cluster": 1}).to_config()["min-cluster"]
    1
    """
    return given_by(config, _parsed(config))


def given_by(config: Mapping[str, Scalar], settings: Settings) -> Settings:
    """Return settings, newly made, of which the sites know a run config; the two may differ in what no site reads."""
    object.__setattr__(settings, "given", dict(config))
    return settings


def make_settings(**values: Any) -> Settings:
    """Return the settings of a strategy by the names that they have in Python; otherwise like `settings_from`.

    Examples
    --------
    >>> make_settings(strategy="svm-rfe", cv_folds=3).folds
    3
    """
    return _parsed({key_of(name): value for name, value in values.items()})


def setting_fields(owner: type) -> dict[str, "Field[Any]"]:
    """Return the settings that are fields of a class, by their names in the run config."""
    return {key_of(one.name): one for one in fields(owner) if "constraint" in one.metadata}


def owners(key: str) -> list[str]:
    """Return the names of the strategies, or of the secure sums, that have a setting."""
    return [name for name, owner in _owners().items() if key in setting_fields(owner)]


def all_settings() -> dict[str, "Field[Any]"]:
    """Return the settings of all strategies and secure sums by their names in the run config.

    Raises
    ------
    SettingError
        If two of them, neither with the other's settings, have made a setting of the same name.
    """
    known: dict[str, Field[Any]] = {"aggregation": setting_fields(Terms)["aggregation"]}
    for name, owner in _owners().items():
        for key, one in setting_fields(owner).items():
            before = known.setdefault(key, one)
            if (before.default, before.metadata) != (one.default, one.metadata):
                raise SettingError(
                    f"'{key}', a setting of {name}, is the name of another setting of {owners(key)[0]} too. Rename one "
                    "of them, or have both take it from one class of settings."
                )
    return known


def default_config() -> dict[str, Scalar]:
    """Return the run config with all settings at their defaults: what ``pyproject.toml`` holds for Flower."""
    return {key: _written(one, one.default) for key, one in all_settings().items()}


def _owners() -> dict[str, type]:
    """Return the classes whose fields are settings, by the names of the strategies and of the secure sums."""
    own: dict[str, type] = {name: strategy.settings_class for name, strategy in STRATEGIES.items()}
    return own | {name: options_class(name) for name in PROTOCOLS}


def options_class(name: str) -> type:
    """Return the dataclass whose settings are a secure sum's options; Paillier, whose packages may lack, has none."""
    return SecureSum if name == "paillier" else PROTOCOLS[name]


def _parsed(config: Mapping[str, Any]) -> Settings:
    strategy = str(config.get("strategy", Settings.strategy))
    settings_class = STRATEGIES[strategy].settings_class
    protocol = protocol_of(Terms.from_config(config))
    own = setting_fields(settings_class)
    known = {*own, "aggregation", *setting_fields(type(protocol))}
    foreign = {key: value for key, value in config.items() if key not in known}
    if foreign:
        _check_defaults(foreign, f"the strategy is {strategy}, the secure sum {protocol.name}")
    settings: Settings = settings_class(
        **{own[key].name: value for key, value in config.items() if key in own}, protocol=protocol
    )
    _check_level(settings)
    return settings


def _check_level(settings: Settings) -> None:
    """Check that the strategy has the level that is asked for; SettingError if not."""
    if settings.privacy == "dp" and not settings.dp:
        raise SettingError(
            f"{settings.strategy} with these settings has no proof of differential privacy for what leaves a hospital, "
            "and privacy is dp. Choose strategy=dp-svm or private-svm, or privacy=perturbed."
        )
    if settings.dp and settings.privacy not in ("auto", "dp"):
        raise SettingError(
            f"{settings.strategy} with these settings is differentially private, and privacy is {settings.privacy}. "
            "Leave privacy out, or choose another strategy."
        )
    if settings.test_epsilon > 0:
        if settings.level != "perturbed":
            raise SettingError(
                "test-epsilon is for level perturbed: elsewhere true records are tested anyway. Leave it out."
            )
        _check_test(settings, "test-epsilon")
    if settings.by:
        _check_test(settings, "by")


def _check_test(settings: Settings, key: str) -> None:
    """Check that a model can be tested as a key asks for; SettingError if not."""
    if not STRATEGIES[settings.strategy].makes_model:
        raise SettingError(
            f"{settings.strategy} makes no model that could be tested by itself. Leave {key} out, or choose another "
            "strategy."
        )
    if settings.test_fraction == 0:
        raise SettingError(f"test-fraction is 0, so {key} has no records. Leave one of them out.")


def _check_defaults(foreign: Mapping[str, Any], chosen: str) -> None:
    """Raise a SettingError unless the values are the defaults of settings that the run does not have."""
    known = all_settings()
    for key, value in foreign.items():
        if key not in known:
            raise SettingError(f"There is no setting '{key}'. {near_matches(key, known)}")
        try:
            usual = read(key, value, known[key].metadata["constraint"]) == known[key].default
        except SettingError:
            usual = False
        if not usual:
            raise SettingError(
                f"'{key}' is a setting of {', '.join(owners(key))}, and {chosen}. Leave it out, or choose another."
            )


def _config_of(settings: Any) -> dict[str, Scalar]:
    return {
        key: _written(one, getattr(settings, one.name)) for key, one in setting_fields(type(settings)).items()
    }


def _written(one: "Field[Any]", value: Any) -> Scalar:
    """Return what the run config holds for a value: always a text where the default is one."""
    write = one.metadata["constraint"].write
    found: Scalar = write(value)
    if isinstance(write(one.default), str) and not isinstance(found, str):
        return number_text(found)
    return found
