"""The runs of a comparison, and all checks before the first of them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from flower_pansvm.constraints import check_choice, near_matches, setting_fields
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.site_names import simulated_name
from flower_pansvm.terms import Scalar
from simulations import running
from simulations.baselines.central import check_given
from simulations.baselines.registry import BASELINES, settings_read
from simulations.comparison.left_out import TESTED_ON, check_left_out, names_of
from simulations.comparison.run import Case, settings_of
from simulations.data.datasets import locate
from simulations.data.pooling import pooled
from simulations.data.sites import join_data, whole_rows_of
from strategies.registry import STRATEGIES
from strategies.report.cautions import FEW
from strategies.settings import SEPARATOR, Settings, all_settings, options_class, owners
from strategies.svm_settings import PanSvmSettings

BY_FILE = "by file"
"""The split of data with a file for each site."""

NOT_COMPARED = ("strategy", "split", "aggregation")
"""Settings with an option of their own."""

NO_DIFFERENCE = ("by", "threshold", "sensitivity")
"""Settings that change no figure of a comparison."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A comparison."""

    data: tuple[str, ...]  # data sets: names or files, or the files of the sites with ``|`` between them
    strategies: tuple[str, ...]  # strategies and baselines
    splits: tuple[str, ...] = ("iid",)  # partitions of the rows
    aggregations: tuple[str, ...] = ("ring",)  # secure sums
    repeats: int  # number of seeds
    seed: int = 0  # the first seed; the others follow it
    common: dict[str, Scalar]  # the run config that all runs share
    varied: dict[str, tuple[Scalar, ...]]  # the values of other settings; each is compared
    leave_out: bool = False  # whether each site of the files is left out in turn, and tested on

    def cases(self) -> list[Case]:
        """Return all runs in the order of the table; a baseline once for all secure sums."""
        cases = []
        seeds = range(self.seed, self.seed + self.repeats)
        for name in self.data:
            data = join_data(name.split(SEPARATOR), str(self.common["data-dir"]))
            splits: dict[str, int | None] = dict.fromkeys(self.splits)
            if SEPARATOR in data:
                splits = {BY_FILE: None}
            if self.leave_out:
                splits = {f"{TESTED_ON}{site}": index for index, site in enumerate(names_of(name))}
            for (split, left_out), (text, chosen) in product(splits.items(), self._choices()):
                for (repeat, seed), strategy in product(enumerate(seeds), self.strategies):
                    federated = strategy not in BASELINES
                    for aggregation in self.aggregations if federated else ("",):
                        config = {
                            **self.common,
                            **_known_to(strategy, aggregation, chosen),
                            "data": data,
                            "split": "iid" if SEPARATOR in data else split,
                            "seed": seed,
                        }
                        case = Case(strategy, name, split, text, aggregation, repeat, seed, config, left_out)
                        cases.append(case)
        return cases

    def check(self) -> list[str]:
        """Check names, settings, data and splits, and return warnings as sentences; PanSVMError if a run must fail."""
        self._check_names()
        self._check_settings()
        for data in self.data if self.leave_out else ():
            check_left_out(data, self.strategies)
        compared = [(case, settings_of(case)) for case in self.cases()]
        self._check_effects(compared)
        single: dict[str, dict[str, None]] = {}
        fewest: dict[str, int] = {}
        classes: dict[tuple[str, str, str, int], tuple[str, ...]] = {}
        for case, settings in compared:
            if case.strategy in BASELINES:
                _ = BASELINES[case.strategy]  # which says so if it needs a package that is not installed
                assert isinstance(settings, PanSvmSettings)
                check_given(settings, case.strategy)
            scenario = (case.data, case.split, case.settings, case.seed)
            try:
                if scenario not in classes:
                    classes[scenario] = running.check_data(settings)
                    if case.left_out is not None:
                        continue
                    one_class, rows = _check_sites(settings)
                    fewest[case.data] = min(rows, fewest.get(case.data, rows))
                    if one_class:
                        where = f"{', '.join(one_class)} with seed {case.seed}"
                        single.setdefault(f"{case.data}, split {case.split}", {})[where] = None
                if case.strategy not in BASELINES:
                    running.check_strategy(settings, classes[scenario])
            except PanSVMError as error:
                where = f"{case.data}, split {case.split}, seed {case.seed}"
                raise type(error)(f"{where}: {error}", error.detail) from None
        return [
            f"{scenario}: all training rows are of one class at {'; '.join(where)}"
            for scenario, where in single.items()
        ] + [
            f"{data}: a class has as few as {rows} test row{'' if rows == 1 else 's'}: figures are uncertain"
            for data, rows in fewest.items()
            if rows < FEW
        ]

    @cached_property
    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file of the data sets that there is, by its name, when first asked for."""
        data_dir = str(self.common["data-dir"])
        folder = Path(data_dir) if data_dir else None
        located = {source: locate(source, folder) for name in self.data for source in name.split(SEPARATOR)}
        return {
            source: hashlib.sha256(path.read_bytes()).hexdigest()
            for source, path in located.items()
            if path is not None and path.is_file()
        }

    def _choices(self) -> list[tuple[str, dict[str, Scalar]]]:
        """Return each combination of the varied settings with its name."""
        choices = []
        for values in product(*self.varied.values()):
            chosen = dict(zip(self.varied, values, strict=True))
            text = " ".join(f"{key}={chosen[key]}" for key in chosen if len(self.varied[key]) > 1)
            choices.append((text, chosen))
        return choices

    def _check_names(self) -> None:
        known = [*STRATEGIES, *BASELINES]
        for name in self.strategies:
            check_choice("strategy or baseline", name, known)
        for name in self.aggregations:
            check_choice("aggregation", name, PROTOCOLS)
        for kind, names in (
            ("data", self.data),
            ("strategies", self.strategies),
            ("splits", self.splits),
            ("aggregations", self.aggregations),
        ):
            if not names:
                raise SettingError(f"No {kind} are named, so there is nothing to compare. Name at least one.")
            repeated = [name for index, name in enumerate(names) if name in names[:index]]
            if repeated:
                raise SettingError(f"'{repeated[0]}' is named twice among the {kind}. Name it once.")
        digests, sets = self.digests, dict[tuple[str, ...], str]()
        for name in self.data:
            first = sets.setdefault(
                tuple(digests.get(source, source) for source in name.split(SEPARATOR)), name
            )
            if first != name:
                raise SettingError(
                    f"'{first}' and '{name}' are the same data, and would count twice. Name one."
                )

    def _check_effects(self, compared: Sequence[tuple[Case, Settings]]) -> None:
        """Raise a SettingError if an option has no effect, or a figure would bear a value that it is not of."""
        if self.splits != ("iid",) and not any(case.split in self.splits for case, _ in compared):
            raise SettingError(
                "Each file is a site, so no split of --splits applies. Leave it out, or name a single file."
            )
        if self.leave_out and "test-fraction" in self.varied:
            raise SettingError("With --leave-out all rows of a site are tested on. Leave test-fraction out.")
        if "noise" in self.varied and not any(
            case.strategy not in BASELINES and settings.level == "perturbed" for case, settings in compared
        ):
            raise SettingError(
                "noise is of level perturbed, at which no system is compared. Add --privacy perturbed, or leave it out."
            )
        if "sites" in self.varied:
            fixed = [found for found in compared if found[1].sites != int(found[0].config["sites"])]
            if len(fixed) == len(compared) or (fixed and len(self.varied["sites"]) > 1):
                case, settings = fixed[0]
                raise SettingError(
                    f"sites is {case.config['sites']}, but {case.data}, {case.split}, has {settings.sites}. Leave "
                    "sites out, or compare data whose number of sites it sets."
                )

    def _check_settings(self) -> None:
        for key, values in self.varied.items():
            if key in NOT_COMPARED:
                raise SettingError(f"'{key}' has an option of its own: see 'pansvm compare --help'.")
            if key in NO_DIFFERENCE:
                raise SettingError(f"'{key}' changes no figure of a comparison. Leave it out.")
            if key not in all_settings():
                raise SettingError(f"There is no setting '{key}'. {near_matches(key, all_settings())}")
            if not any(
                key in _settings_known(strategy, aggregation)
                for strategy, aggregation in product(self.strategies, self.aggregations)
            ):
                raise SettingError(
                    f"'{key}' is a setting of {', '.join(owners(key))}, none of which is compared. Leave it out."
                )
            if len(set(map(str, values))) < len(values):
                raise SettingError(f"{key} has the same value twice. Give it once.")


def _check_sites(settings: Settings) -> tuple[list[str], int]:
    """Check that every site has training rows; return sites with one class, and the fewest test rows of a class."""
    pool, sites = pooled(settings), range(len(whole_rows_of(settings)))
    classes = [len(np.unique(pool.train.classes[pool.train.sites == site])) for site in sites]
    empty = [simulated_name(site) for site in sites if classes[site] == 0]
    if empty:
        raise SettingError(
            f"{', '.join(empty)} would have no training row. Lower test-fraction or the number of sites, choose "
            "another split, or start from another --seed."
        )
    tested = np.bincount(pool.test.classes, minlength=len(pool.schema.classes))
    single = [simulated_name(site) for site in sites if classes[site] == 1]
    return single, int(tested.min())


def _settings_known(strategy: str, aggregation: str) -> set[str]:
    """Return the settings of a strategy with a secure sum, or of a baseline."""
    if strategy in BASELINES:
        return settings_read(strategy)
    options = setting_fields(options_class(aggregation))
    return {*setting_fields(STRATEGIES[strategy].settings_class), *options}


def _known_to(strategy: str, aggregation: str, chosen: Mapping[str, Scalar]) -> dict[str, Scalar]:
    known = _settings_known(strategy, aggregation)
    return {key: value for key, value in chosen.items() if key in known}
