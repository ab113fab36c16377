"""Tables of the page on privacy attacks, from ``results/privacy.json`` and ``results/filters.json``."""

import pandas as pd

from simulations.markdown import table_of
from simulations.result_files import EXACT, NOISES, SHORT, Measured, by_level


def kept(privacy: Measured) -> str:
    """Return the number of reconstructed records at each level, and the AUC of membership inference, by table."""
    frame = privacy.frame("levels").pivot_table(
        index="data", columns=["how", "level"], values=["found", "membership", "records"], sort=False
    )
    at = (EXACT, *NOISES)
    columns = [
        ("records", "run", EXACT),
        *(("found", how, level) for how in ("run", "seeds") for level in at),
        *(("membership", "seeds", level) for level in at),
    ]
    header = (
        *("table", "training records", "one run: `exact`", "0.25", "0.5"),
        *("twelve runs: `exact`", "0.25", "0.5", "membership: `exact`", "0.25", "0.5"),
    )
    return table_of(header, frame.reindex(columns=columns), *["{:.0f}"] * 7, *["{:.2f}"] * 3)


def nearness(privacy: Measured) -> str:
    """Return the distances of reconstructed and of all copies from the true records, over tables and attacks."""
    levels = privacy.frame("levels").query("level in @NOISES")
    lines = {}
    for level, of_level in levels.groupby("level", sort=False):
        near = of_level["found_distance"].dropna()
        lines[str(level)] = [near.mean(), near.min(), near.max(), of_level["copy_distance"].mean()]
    frame = pd.DataFrame.from_dict(lines, orient="index")
    return table_of(("", "found copies: mean", "nearest", "farthest", "all copies: mean"), frame, "{:.2f}")


def filtered(filters: Measured) -> str:
    """Return the figures of attacks on a whole copy, by noise: the error of a linear filter, and membership."""
    frame = filters.frame("filters").pivot_table(
        index="data", columns="noise", values=["columns", "error", "membership"], sort=False, dropna=False
    )
    columns = [
        ("columns", 0.25),
        *((name, noise) for name in ("error", "membership") for noise in (0.25, 0.5)),
    ]
    header = ("table", "columns", "error at noise 0.25", "0.5", "membership at noise 0.25", "0.5")
    return table_of(header, frame.reindex(columns=columns), "{:.0f}", *["{:.2f}"] * 4)


def searched(privacy: Measured) -> str:
    """Return the number of records that a semi-honest coordinator reconstructs: with tuning, or selection."""
    frame = privacy.frame("levels").query("how in ('tune', 'select')")
    frame = frame.pivot_table(index="data", columns=["how", "level"], values=["found", "records"], sort=False)
    columns = [
        ("records", "tune", EXACT),
        *(("found", how, level) for how in ("tune", "select") for level in (EXACT, *NOISES)),
    ]
    header = (
        "table",
        "training records",
        "`tune`: `exact`",
        "0.25",
        "0.5",
        "`select`: `exact`",
        "0.25",
        "0.5",
    )
    return table_of(header, frame.reindex(columns=columns), "{:.0f}")


def given_away(privacy: Measured) -> str:
    """Return accuracy, reconstructed records and membership of each published system, by data set."""
    attacks = privacy.frame("attacks").merge(
        privacy.frame("membership"), on=["data", "system"], how="left", suffixes=("", "_of_members")
    )
    lines, sets = {}, list(dict.fromkeys(attacks["data"]))
    for system, of_system in attacks.groupby("system", sort=False):
        known = of_system.set_index("data")
        attacker, how = known[["attacker", "attack"]].dropna().iloc[0]
        cells = [f"{attacker}: {how}" if attacker == "another hospital" else str(how).partition(";")[0]]
        for data in sets:
            line = known.loc[data]
            ran = not pd.isna(line["train_rows"])
            cells += [
                f"{100 * line['accuracy']:.1f}" if ran else "no run",
                _records(line) if ran else "",
                f"{line['area']:.2f}" if not pd.isna(line["area"]) else "",
            ]
        lines[f"`{system}`"] = cells
    header = ["system", "attack"]
    for data in sets:
        rows = attacks.loc[attacks["data"] == data, "train_rows"].max()
        header += [f"{data}: accuracy, %", f"found, of {rows:.0f}", "membership"]
    frame = pd.DataFrame.from_dict(lines, orient="index")
    return table_of(header, frame, "{}")


def _records(line: "pd.Series[float]") -> str:
    """Return the numbers of reconstructed training and test records, and the rest of the attack's description."""
    of_test = 0 if pd.isna(line["test_within_10"]) else int(line["test_within_10"])
    also = f"; {of_test} of {int(line['test_rows'])} test rows" if of_test else ""
    more = str(line["attack"]).partition(";")[2]
    return f"{int(line['train_within_10'])}{also}" + (f";{more}" if more else "")


def calibrated(calibration: Measured) -> str:
    """Return the median calibration slope with its quartiles and the mean Brier score of PAN-SVM at each level."""
    splits, levels = by_level(calibration, "splits"), list(SHORT)
    groups = splits.groupby(["data", "level"], sort=False)
    low, middle, high = (groups["slope"].quantile(share).map("{:.2f}".format) for share in (0.25, 0.5, 0.75))
    slopes = (middle + " (" + low + " to " + high + ")").unstack(sort=False)[levels]
    values = pd.concat([slopes, groups["brier"].mean().unstack(sort=False)[levels]], axis=1)
    header = ("", f"slope {levels[0]}", *levels[1:], f"Brier score {levels[0]}", *levels[1:])
    return table_of(header, values, *("{}",) * 3, *("{:.3f}",) * 3)
