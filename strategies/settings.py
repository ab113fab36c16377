"""The settings of a run: those of every strategy, and the parsing of a run config into a strategy's settings.

They are the keys of Flower's run config (``[tool.flwr.app.config]``, ``flwr run --run-config``) and of
``pansvm run --set``. Each field has its constraint and its meaning; ``docs/settings.md`` lists all.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from pathlib import Path
from typing import Any, Self

from flower_pansvm.constraints import (
    key_of,
    near_matches,
    number,
    parse,
    read,
    setting,
    setting_fields,
    values_in,
    whole,
)
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import canonical_label
from flower_pansvm.lists import split_list
from flower_pansvm.privacy.accountant import LARGEST_EPSILON
from flower_pansvm.secure_sum import protocol_of
from flower_pansvm.secure_sum.contract import SecureSum
from flower_pansvm.secure_sum.protocols.ring import Ring
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.table_schema import TableSchema
from flower_pansvm.terms import Scalar, Terms
from strategies.constraints import flag, names, number_text, one_text
from strategies.registry import STRATEGIES, usable


def term(name: str, owner: type = Terms) -> Any:
    """Return a field like that of another owner; by default of a setting that the sites read, too."""
    source = setting_fields(owner)[key_of(name)]
    return field(default=source.default, metadata=source.metadata)


SEPARATOR = "|"
"""Between the files in the setting ``data``. Windows forbids it in file names, elsewhere it is rare, and it has no
meaning within the quotes of a run config: ``--run-config "data='/a/north.csv|/a/south.csv'"``."""


@dataclass(frozen=True)
class Settings:
    """The settings of every strategy. Settings of a single strategy are a subclass, beside its algorithm.

    Values may be given as a user writes them, ``landmarks="auto"``; the fields hold them in their own types.

    Raises
    ------
    SettingError
        If a value is invalid.
    """

    data: str = setting(
        "breast_cancer",
        one_text(),
        "Data set or file of the simulated sites; a hospital names its own table.",
    )
    label: str = setting("", one_text(), "Label column; by default the schema's, or 'label'.")
    schema: str = setting(
        "",
        one_text(),
        "Schema file of all sites: columns, classes and public ranges; an absolute path.",
    )
    drop: str = setting("", names(), "Columns of the simulated sites' tables to leave out, comma-separated.")
    positive: str = setting("", names(), "Positive labels, comma-separated; by default the schema's.")
    split: str = setting(
        "iid",
        one_text(),
        "Rows over simulated sites: iid, dirichlet:ALPHA, dirichlet:ALPHA:ROWS, quantity:ALPHA, quantity:ALPHA:ROWS, "
        "feature:COLUMN, by:COLUMN or checkerboard:RxS.",
    )
    sites: int = setting(5, whole(2), "Number of sites.")
    data_dir: str = setting("", one_text(), "Folder of data sets; by default $PANSVM_DATA.")
    strategy: str = setting("pan-svm", one_text(), "Name of the strategy.")
    privacy: str = term("privacy")
    noise: float = term("noise")
    test_epsilon: float = setting(
        0.0,
        number(least=0, most=LARGEST_EPSILON),
        "Epsilon of a test on true records at level perturbed; 0 for a test on their copies.",
    )
    by: str = setting(
        "",
        one_text(),
        "Subgroups to evaluate: a category or yes/no column, a number column and its limits (age:50,70), or site.",
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
    out: str = setting("", one_text(), "Folder for the results, an absolute path; by default runs/RUN_ID.")
    resume: bool = setting(False, flag(), "Continue from the checkpoint of a stopped run in the folder.")
    audit: bool = setting(False, flag(), "Keep questions, broadcasts and sums, for 'pansvm run --audit'.")
    # The secure sum with its options; in the run config ``aggregation`` is its name, and each option has a key.
    protocol: SecureSum = field(default_factory=Ring)
    # The run config of these settings; None if they were not read from one.
    given: Mapping[str, Scalar] | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        parse(self)

    @classmethod
    def common(cls, config: Mapping[str, Scalar]) -> Self:
        """Return the settings common to all strategies."""
        known = setting_fields(cls)
        return cls(**{known[key].name: value for key, value in config.items() if key in known})  # type: ignore[arg-type]

    def to_config(self) -> dict[str, Scalar]:
        """Return the run config with these settings, and those of other strategies at their defaults."""
        config = _config_of(self) | _config_of(self.protocol)
        return {**default_config(), **config, "aggregation": self.aggregation}

    @property
    def dp(self) -> bool:
        """Whether all results that leave a hospital are differentially private."""
        return False

    @property
    def level(self) -> str:
        """The privacy level: ``exact``, ``perturbed`` or ``dp`` (`Terms.privacy`)."""
        if self.dp:
            return "dp"
        return "perturbed" if self.privacy == "auto" else self.privacy

    @property
    def aggregation(self) -> str:
        """The name of the secure sum."""
        return self.protocol.name

    @property
    def run_config(self) -> dict[str, Scalar]:
        """The run config exactly as every site has it: both sides compute digests of it."""
        return self.to_config() if self.given is None else dict(self.given)

    @property
    def terms(self) -> Terms:
        """The settings that the sites read."""
        return Terms.from_config(self.run_config)

    @property
    def positive_labels(self) -> tuple[str, ...]:
        """The labels in ``positive``, otherwise in the schema file; empty if the classes are the labels."""
        if self.schema and not self.positive:
            return TableSchema.read(Path(self.schema)).positive
        return tuple(canonical_label(label) for label in split_list(self.positive) if label)

    @property
    def tunes(self) -> bool:
        """Whether cross-validation chooses hyperparameters."""
        return False

    @property
    def selects(self) -> bool:
        """Whether the strategy selects features."""
        return False

    @property
    def folds(self) -> int:
        """Number of folds of the sites' training rows; 0 without folds."""
        return 0


def settings_from(config: Mapping[str, Scalar]) -> Settings:
    """Return the settings of the strategy that a run config names.

    Parameters
    ----------
    config : mapping
        The run config: names with ``-``, missing ones at their defaults. Flower's has the settings of all strategies;
        those of other strategies must be at their defaults.

    Raises
    ------
    SettingError
        If a name is unknown (the text has near matches) or a setting of another strategy, or a value is invalid.

    Examples
    --------
    >>> settings_from({"C": 10, "min-cluster": 1}).to_config()["min-cluster"]
    1
    """
    return given_by(config, _parsed(config))


def given_by(config: Mapping[str, Scalar], settings: Settings) -> Settings:
    """Set the run config that the sites have, which may differ in settings that no site reads; return the settings."""
    object.__setattr__(settings, "given", dict(config))
    return settings


def make_settings(**values: Any) -> Settings:
    """Return the settings of a strategy by their names in Python; otherwise like `settings_from`.

    Examples
    --------
    >>> make_settings(strategy="svm-rfe", cv_folds=3).folds
    3
    """
    return _parsed({key_of(name): value for name, value in values.items()})


def owners(key: str) -> list[str]:
    """Return the names of the strategies, or of the secure sums, that have a setting."""
    return [name for name, owner in _owners().items() if key in setting_fields(owner)]


def all_settings() -> dict[str, "Field[Any]"]:
    """Return the settings of all strategies and secure sums by their names in the run config.

    Raises
    ------
    SettingError
        If two of them define different settings of the same name.
    """
    known: dict[str, Field[Any]] = {"aggregation": setting_fields(Terms)["aggregation"]}
    for name, owner in _owners().items():
        for key, definition in setting_fields(owner).items():
            first = known.setdefault(key, definition)
            if (first.default, first.metadata) != (definition.default, definition.metadata):
                raise SettingError(
                    f"'{key}', a setting of {name}, is the name of another setting of {owners(key)[0]}, too. Rename "
                    "one of them, or define it in one class for both."
                )
    return known


def default_config() -> dict[str, Scalar]:
    """Return the run config with all settings at their defaults, as in ``pyproject.toml``."""
    return {key: _written(definition, definition.default) for key, definition in all_settings().items()}


def _owners() -> dict[str, type]:
    """Return the classes of settings by the names of the strategies and of the secure sums."""
    classes: dict[str, type] = {name: STRATEGIES[name].settings_class for name in usable(STRATEGIES)}
    return classes | {name: options_class(name) for name in usable(PROTOCOLS)}


def options_class(name: str) -> type:
    """Return the dataclass of a secure sum's options; Paillier, whose packages may be missing, has none."""
    return SecureSum if name == "paillier" else PROTOCOLS[name]


def _parsed(config: Mapping[str, Any]) -> Settings:
    strategy = str(config.get("strategy", Settings.strategy))
    settings_class = STRATEGIES[strategy].settings_class
    protocol = protocol_of(Terms.from_config(config))
    known = {*setting_fields(settings_class), "aggregation", *setting_fields(type(protocol))}
    foreign = {key: value for key, value in config.items() if key not in known}
    if foreign:
        _check_defaults(foreign, f"the strategy is {strategy}, the secure sum {protocol.name}")
    settings: Settings = settings_class(**values_in(settings_class, config), protocol=protocol)
    _check_level(settings)
    return settings


def _check_level(settings: Settings) -> None:
    """Check that the strategy has the requested level; SettingError if not."""
    if settings.privacy == "dp" and not settings.dp:
        raise SettingError(
            f"{settings.strategy} with these settings is not differentially private, but privacy is dp. Choose "
            "strategy=dp-svm or private-svm, or privacy=perturbed."
        )
    if settings.dp and settings.privacy not in ("auto", "dp"):
        raise SettingError(
            f"{settings.strategy} with these settings is differentially private, but privacy is {settings.privacy}. "
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
    """Raise a SettingError unless the values are defaults of settings of other strategies."""
    known = all_settings()
    for key, value in foreign.items():
        if key not in known:
            raise SettingError(f"There is no setting '{key}'. {near_matches(key, known)}")
        try:
            is_default = read(key, value, known[key].metadata["constraint"]) == known[key].default
        except SettingError:
            is_default = False
        if not is_default:
            raise SettingError(
                f"'{key}' is a setting of {', '.join(owners(key))}, and {chosen}. Leave it out, or choose another "
                "strategy or secure sum."
            )


def _config_of(settings: Any) -> dict[str, Scalar]:
    return {
        key: _written(definition, getattr(settings, definition.name))
        for key, definition in setting_fields(type(settings)).items()
    }


def _written(definition: "Field[Any]", value: Any) -> Scalar:
    """Return a value as the run config has it: as text if the default is text."""
    write = definition.metadata["constraint"].write
    written: Scalar = write(value)
    if isinstance(write(definition.default), str) and not isinstance(written, str):
        return number_text(written)
    return written
