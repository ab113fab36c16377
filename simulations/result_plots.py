"""Plots of pages, from result files of benchmarks."""

from matplotlib.figure import Figure

from simulations.result_files import Measured

EPSILONS = (0.5, 1.0, 2.0, 4.0)


def plot_private_accuracy(models: Measured) -> Figure:
    """Plot accuracy against ε: a panel per data set, a line per method, bars of one standard error."""
    frame = models.frame("models").query(
        "data in ('heart', 'diabetes', 'breast_cancer', 'australian', 'spambase', 'letter')"
    )
    figure = Figure(figsize=(12, 6.5), layout="constrained")
    for panel, (name, of_set) in zip(
        figure.subplots(2, 3).flat, frame.groupby("data", sort=False), strict=True
    ):
        for method, line in of_set.groupby("method", sort=False):
            accuracies = 100 * line["accuracy"]
            if line["epsilon"].isna().all():
                style = "-" if method == "exact SVM" else ":"
                panel.axhline(
                    float(accuracies.iloc[0]), color="black", linestyle=style, linewidth=1.2, label=method
                )
            else:
                error = 100 * line["deviation"] / line["splits"] ** 0.5
                panel.errorbar(line["epsilon"], accuracies, error, marker="o", capsize=2, label=method)
        panel.set(
            title=name, xscale="log", xticks=EPSILONS, xticklabels=[f"{epsilon:g}" for epsilon in EPSILONS]
        )
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    figure.supxlabel("ε of the whole run, δ = 1e-5")
    figure.supylabel("test accuracy, %")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False
    )
    return figure


def plot_found(privacy: Measured) -> Figure:
    """Plot accuracy against the share of records that an attacker reconstructs: a panel per data set."""
    attacks = privacy.frame("attacks").dropna(subset=["accuracy"]).fillna({"test_within_10": 0})
    figure = Figure(figsize=(12, 5), layout="constrained")
    styles = {
        name: {"marker": marker, "color": f"C{index}"}
        for index, (name, marker) in enumerate(
            zip(dict.fromkeys(attacks["system"]), "os^vDP*Xph", strict=True)
        )
    }
    for panel, (name, of_set) in zip(
        figure.subplots(1, attacks["data"].nunique()), attacks.groupby("data", sort=False), strict=True
    ):
        rows = of_set["train_rows"] + of_set["test_rows"]
        shares = 100 * (of_set["train_within_10"] + of_set["test_within_10"]) / rows
        for system, share, accuracy in zip(of_set["system"], shares, 100 * of_set["accuracy"], strict=True):
            panel.scatter(share, accuracy, 80, alpha=0.8, label=system, **styles[system])
        panel.set(title=name, xscale="symlog", xlim=(-0.3, 130), xticks=(0, 1, 10, 100))
        panel.set_xticklabels(["0", "1", "10", "100"])
        panel.grid(alpha=0.3)
    figure.supxlabel("records that the attacker finds, %")
    figure.supylabel("test accuracy, %")
    handles = {
        label: handle
        for panel in figure.axes
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False)
    return figure


def plot_secure_sums(secure_sums: Measured) -> Figure:
    """Plot the CPU seconds of one sum against its number of values and of sites."""
    sums = secure_sums.frame("sums")
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for panel, axis, of_panel, title in (
        (panels[0], "values", sums.query("sites == 5"), "5 sites"),
        (panels[1], "sites", sums.query("values == 10_000"), "10,000 values"),
    ):
        for name, line in of_panel.groupby("aggregation", sort=False):
            panel.plot(
                line[axis], line["cpu_seconds"], "--" if "hops" in str(name) else "-", marker="o", label=name
            )
        panel.set(xlabel=axis, title=title, yscale="log", xscale="log" if axis == "values" else "linear")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU seconds of all sites")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


PLOTS = {
    "private-accuracy.png": ("private_accuracy", plot_private_accuracy),
    "found.png": ("privacy", plot_found),
    "secure-sums.png": ("secure_sums", plot_secure_sums),
}
