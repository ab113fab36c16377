"""PAN-SVM in somebody else's Flower app, as the page has it: on its own rows, under its own run config."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import LocalDpMod, adaptiveclipping_mod, fixedclipping_mod
from flwr.serverapp.strategy import FedAvg
from sklearn.datasets import load_wine
from sklearn.svm import SVC

from clients.table import simulated
from flower_pansvm import serverapp
from flower_pansvm.clientapp import client_app
from flower_pansvm.errors import PanSVMError, SettingError, TableError
from flower_pansvm.models.model import load_model
from flower_pansvm.serverapp import DpSvm, PanSVM
from simulations.engines.in_process import InProcessGrid
from strategies.registry import STRATEGIES
from strategies.strategy import PhasedStrategy

PAGE = (Path(__file__).parents[2] / "docs" / "own-app.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- own app: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))

OURS = {
    "pansvm.privacy": "exact",
    "pansvm.tol": 0.001,
    "pansvm.sites": 3,
    "learning-rate": 0.1,
    "sites": "a key of the app's own",
}


@pytest.fixture(autouse=True)
def _other_tests_keep_their_tables() -> Iterator[None]:
    before = list(simulated._of_this_process)
    yield
    simulated._of_this_process[:] = before


def wine(context: Context) -> pd.DataFrame:
    site, sites = (int(context.node_config[key]) for key in ("partition-id", "num-partitions"))
    assert context.run_config["learning-rate"] == 0.1
    return load_wine(as_frame=True).frame.rename(columns={"target": "label"})[site::sites]


def grid_of(app: ClientApp, config: dict[str, Any] | None = None, sites: int = 3) -> InProcessGrid:
    nodes = [{"partition-id": number, "num-partitions": sites} for number in range(sites)]
    return InProcessGrid(app, nodes, config or OURS)


def context(config: dict[str, Any] | None = None) -> Context:
    return Context(1, 0, {}, RecordDict(), config or OURS)


def trained(app: ClientApp, config: dict[str, Any] | None = None, **given: Any) -> Any:
    return PanSVM.from_context(context(config), **{"C": 10, **given}).start(grid_of(app, config))


def test_it_is_the_svm_of_all_rows() -> None:
    result = trained(client_app(data=wine), test_fraction=0.0, landmarks="0.9")
    frame = load_wine(as_frame=True).frame
    X, y = frame.drop(columns="target"), frame["target"]
    Z = (X - X.mean()) / X.std(ddof=0)
    central = SVC(C=10, gamma="scale").fit(Z.to_numpy(), y)
    said = result.model.predict(X.set_axis(result.model.feature_names_in_, axis=1))
    assert np.mean(said.astype(str) == central.predict(Z.to_numpy()).astype(str)) > 0.97


def test_the_result_has_an_entry_for_each_round_trip() -> None:
    seen: dict[int, Any] = {}
    strategy = PanSVM.from_context(context(), C=10)
    result = strategy.start(grid_of(client_app(data=wine)), on_round=seen.__setitem__)
    entries = result.train_metrics_clientapp
    assert [*entries] == [*seen] == [*range(1, strategy.federation.costs.round_trips + 1)]
    assert sum(one["bytes-up"] for one in entries.values()) == strategy.federation.costs.bytes_up
    bounds = [one for one in entries.values() if "upper-bound" in one]
    assert bounds
    assert all(one["lower-bound"] <= one["upper-bound"] for one in bounds)
    assert result.evaluate_metrics_clientapp[max(entries)]["accuracy"] > 0.9
    assert set(result.arrays) <= result.model.to_arrays().keys()
    # As Flower's own, it is shown by its figures and the arrays' size.
    assert "accuracy" in str(result)
    assert "NUMPY" not in str(result)


def test_cells_and_labels_are_as_good_as_a_frame() -> None:
    def pair(context: Context) -> Any:
        frame = wine(context)
        return frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()

    def pair_with_names(context: Context) -> Any:
        # Of one site in another order, which only the names tell.
        frame = wine(context).iloc[:, :: 1 if context.node_config["partition-id"] else -1]
        return frame.drop(columns="label"), frame["label"]

    as_frame, as_pair, named = (trained(client_app(data=one)) for one in (wine, pair, pair_with_names))
    assert as_pair.model.schema_.columns[0] == "x1"
    assert set(named.model.schema_.columns) == set(as_frame.model.schema_.columns)
    accuracy = [one.evaluate_metrics_clientapp.popitem()[1]["accuracy"] for one in (as_frame, as_pair)]
    assert accuracy[0] == accuracy[1]


class Rows:
    """A function that has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, context: Context) -> pd.DataFrame:
        return read_once(context)


reads: list[Any] = []


def read_once(context: Context, more: int = 0) -> pd.DataFrame:
    reads.append(context.node_config["partition-id"])
    return wine(context)


def nested() -> Any:
    def rows(context: Context) -> pd.DataFrame:
        return read_once(context)

    return rows


@pytest.mark.parametrize("rows", [lambda: read_once, nested, lambda: partial(read_once, more=1), Rows])
def test_a_site_reads_its_rows_once_whatever_the_function_is(rows: Any) -> None:
    """Flower's simulation hands a worker another copy of the app with each message."""
    reads.clear()

    def copied(message: Message, context: Context) -> Message:
        return client_app(data=rows())(message, context)

    PanSVM.from_context(context(), C=10).start(grid_of(copied))  # type: ignore[arg-type]
    assert sorted(reads) == [0, 1, 2]


@pytest.mark.parametrize("by", ["code", "run config"])
def test_the_label_column_has_any_name(by: str) -> None:
    def cultivars(context: Context) -> pd.DataFrame:
        return wine(context).rename(columns={"label": "cultivar"})

    in_code, in_config = ({"label": "cultivar"}, {}) if by == "code" else ({}, {"pansvm.label": "cultivar"})
    result = trained(client_app(data=cultivars, **in_code), {**OURS, **in_config})
    assert result.model.schema_.classes == ("0", "1", "2")


@pytest.mark.parametrize("key", ["audit", "data", "data-dir", "drop", "out", "resume", "split"])
def test_a_setting_without_effect_in_an_app_is_refused(key: str) -> None:
    with pytest.raises(SettingError, match=f"pansvm.{key} has no effect"):
        PanSVM.from_context(context({f"pansvm.{key}": "iid"}))


def test_the_log_counts_the_sites_that_take_part(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "flower_pansvm")
    trained(client_app(data=wine), {**OURS, "pansvm.sites": 2, "pansvm.min-sites": 2})
    assert "2 sites" not in caplog.text
    assert "3 sites" in caplog.text


def test_a_nodes_other_keys_are_the_apps() -> None:
    def own_path(context: Context) -> pd.DataFrame:
        assert (context.node_config["path"], context.node_config["data"]) == ("/rows", "mine")
        return wine(context)

    nodes = [{"partition-id": one, "num-partitions": 3, "path": "/rows", "data": "mine"} for one in range(3)]
    result = PanSVM.from_context(context()).start(InProcessGrid(client_app(data=own_path), nodes, OURS))
    assert result.model is not None


def test_a_node_without_a_number_is_told_the_keys() -> None:
    grid = InProcessGrid(client_app(data=wine), [{"path": "/rows"}] * 3, OURS)
    with pytest.raises(SettingError, match="partition-id and num-partitions"):
        PanSVM.from_context(context()).start(grid)


def test_text_is_read_by_the_schema_file(tmp_path: Path) -> None:
    def with_text(context: Context) -> pd.DataFrame:
        frame = wine(context).rename(columns={"label": "cultivar"})
        return frame.assign(grown=np.where(frame["ash"] > 2.3, "south", "north"))

    schema = tmp_path / "schema.toml"
    columns = [name for name in load_wine().feature_names if name != "label"]
    text = 'label = "cultivar"\nclasses = ["0", "1"]\n' + "".join(f'[columns."{one}"]\n' for one in columns)
    schema.write_text(text + '[columns.grown]\nkind = "category"\ncategories = ["north", "south"]\n')
    config = {**OURS, "pansvm.schema": str(schema)}
    assert trained(client_app(data=with_text), config).model.schema_.classes == ("0", "1")


def test_a_mod_sees_the_messages() -> None:
    seen = []

    def mod(message: Any, context: Context, call_next: Any) -> Any:
        seen.append((message.metadata.message_type, "learning-rate" in context.run_config))
        return call_next(message, context)

    trained(client_app(data=wine, mods=[mod]))
    assert ("query.join", True) in seen
    assert all(whole for _, whole in seen)


def test_a_handler_of_the_apps_own_gets_the_apps_context() -> None:
    """A ServerApp may run another strategy before or after PAN-SVM."""
    app = client_app(data=wine)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        metrics = {"num-examples": 5, "rate": context.run_config["learning-rate"]}
        metrics["gpu"] = context.node_config["gpu"]
        arrays = message.content["arrays"]
        return Message(RecordDict({"arrays": arrays, "metrics": MetricRecord(metrics)}), reply_to=message)

    nodes = [{"partition-id": number, "num-partitions": 3, "gpu": 2} for number in range(3)]
    grid = InProcessGrid(app, nodes, OURS)
    assert PanSVM.from_context(context()).start(grid).model is not None
    result = FedAvg(fraction_evaluate=0.0).start(grid, ArrayRecord({"w": Array(np.zeros(2))}), num_rounds=1)
    assert dict(result.train_metrics_clientapp[1]) == {"rate": pytest.approx(0.1), "gpu": 2}


def changing(mod: str) -> Any:
    """Return a mod that does one thing wrong."""

    def wrong_mod(message: Any, context: Context, call_next: Any) -> Any:
        if mod == "request":
            message.content["more"] = ConfigRecord({"key": 1})
        if mod == "fails":
            raise RuntimeError("no such folder")
        if mod == "answers":
            return Message(RecordDict(), reply_to=message)
        reply = call_next(message, context)
        if mod == "reply" and reply.has_content():
            reply.content["more"] = ConfigRecord({"key": 1})
        return reply

    return wrong_mod


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("request", "changed the request"),
        ("reply", "changed the reply"),
        ("answers", "replied itself"),
        ("fails", "RuntimeError: no such folder"),
    ],
)
def test_a_mod_that_changes_a_message_or_fails_is_named(wrong: str, said: str) -> None:
    with pytest.raises(SettingError, match=f"mod wrong_mod .*{said}"):
        trained(client_app(data=wine, mods=[changing("nothing"), changing(wrong)]))


@pytest.mark.parametrize("mod", [LocalDpMod(1.0, 1.0, 1.0, 1e-5), fixedclipping_mod, adaptiveclipping_mod])
def test_flowers_mods_that_rewrite_arrays_are_refused_at_once(mod: Any) -> None:
    with pytest.raises(SettingError, match=r"rewrites the arrays.*Leave it out"):
        client_app(data=wine, mods=[mod])


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (lambda _: 1 / 0, TableError),
        (lambda _: sys.exit(3), TableError),
        (lambda _: pd.DataFrame(), TableError),
        (lambda _: [1, 2], TableError),
        (lambda _: (np.zeros((3, 2)), [1]), TableError),
        (lambda _: (np.zeros((3, 2)), np.zeros((3, 1))), TableError),
        (lambda _: pd.DataFrame({"age": [1.0, 2.0]}), TableError),
    ],
)
def test_a_function_that_cannot_be_used_is_named(rows: Any, error: type[PanSVMError]) -> None:
    with pytest.raises(PanSVMError) as raised:
        trained(client_app(data=rows))
    assert raised.value.code == error.code


@pytest.mark.parametrize("real", [False, True], ids=["simulated", "a real node"])
@pytest.mark.parametrize("where", ["function", "table", "mod"])
def test_on_a_real_node_the_text_of_its_errors_stays(where: str, real: bool) -> None:
    def failing(*_: Any) -> Any:
        raise ValueError("patient 4711")

    def dated(context: Context) -> pd.DataFrame:
        return wine(context).assign(seen="4711-01-01")

    mods = [failing] if where == "mod" else []
    grid = grid_of(client_app(data={"function": failing, "table": dated, "mod": wine}[where], mods=mods))
    for node, own in grid._contexts.items() if real else ():
        grid._contexts[node] = Context(  # type: ignore[assignment]
            own.run_id, node, own.node_config, own.state, own.run_config
        )
    with pytest.raises(PanSVMError) as caught:
        PanSVM.from_context(context()).start(grid)
    detail = "data row 1" if where == "table" else "patient 4711"
    assert (detail in str(caught.value)) is not real
    assert ("node" in str(caught.value)) is real


def test_nodes_of_one_number_are_told_to_have_others() -> None:
    """Commands that were copied start several SuperNodes with the first one's number."""
    nodes = [{"partition-id": number, "num-partitions": 3} for number in (0, 0, 1)]
    with pytest.raises(PanSVMError, match="another partition-id"):
        PanSVM.from_context(context()).start(InProcessGrid(client_app(data=wine), nodes, OURS))


def test_what_a_function_writes_into_its_context_stays_there() -> None:
    def numbering(context: Context) -> pd.DataFrame:
        rows = wine(context)
        context.node_config["partition-id"] = 7
        context.run_config["pansvm.privacy"] = "perturbed"
        return rows

    assert trained(client_app(data=numbering)).model is not None


def test_rows_that_change_within_a_run_are_refused() -> None:
    calls = iter(range(1000))

    def other_columns(context: Context) -> pd.DataFrame:
        return wine(context).rename(columns={"ash": f"ash {next(calls)}"})

    app = client_app(data=other_columns)
    with pytest.raises(PanSVMError):
        trained(app)


@pytest.mark.parametrize(
    "given",
    [
        {"privacy": "perturbed"},
        {"aggregation": "k-secure"},
        {"label": "x"},
        {"schema": __file__},
        {"cc": 1},
        {"C": "many"},
    ],
)
def test_settings_that_cannot_be_given_in_code_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        PanSVM.from_context(context(), **given)


def test_a_run_config_that_names_another_strategy_than_the_class_is_refused() -> None:
    assert PanSVM.from_context(context({"pansvm.strategy": "pan-svm"})).settings.strategy == "pan-svm"
    with pytest.raises(SettingError, match=r"pan-svm.*pansvm\.strategy = 'dp-svm'.*Remove pansvm\.strategy"):
        PanSVM.from_context(context({"pansvm.strategy": "dp-svm"}))


def test_a_subclass_that_looks_at_results_is_the_strategy() -> None:
    class Looking(PanSVM):
        seen: ClassVar[list[str]] = []

        def after_round(self, server_round: int, task_name: str, sums: Any) -> None:
            self.seen.append(task_name)

    class Unknown(PhasedStrategy):
        def fit(self, federation: Any) -> Any: ...

    with pytest.raises(
        SettingError, match=r"no strategy 'Unknown'.*entry point of the group flower_pansvm\.strategies"
    ):
        Unknown.from_context(context())
    strategy = Looking.from_context(context(), C=10)
    assert strategy.settings.strategy == "pan-svm"
    strategy.start(grid_of(client_app(data=wine)))
    assert "moments" in Looking.seen


def test_a_strategy_of_ones_own_that_returns_no_outcome_is_told_what_to_return() -> None:
    class Forgetful(PanSVM):
        def fit(self, federation: Any) -> Any:
            super().fit(federation)

    with pytest.raises(SettingError, match=r"Forgetful.fit returns NoneType.*Outcome"):
        Forgetful.from_context(context(), C=10).start(grid_of(client_app(data=wine)))


def test_a_setting_that_the_sites_read_may_be_given_as_they_read_it() -> None:
    assert PanSVM.from_context(context(), privacy="exact").settings.level == "exact"


def test_an_unknown_key_of_the_plugins_is_refused_and_others_are_left_alone() -> None:
    with pytest.raises(SettingError):
        PanSVM.from_context(context({"pansvm.landmark": 3}))
    assert PanSVM.from_context(context({"landmark": 3})).settings.sites == 5
    assert DpSvm.from_context(context({"pansvm.steps": 2})).settings.dp


@pytest.mark.parametrize(
    "given",
    [
        {"num_rounds": 3},
        {"initial_arrays": ArrayRecord()},
        {"train_config": ConfigRecord()},
        {"evaluate_config": ConfigRecord()},
        {"timeout": 1.0},
    ],
)
def test_what_has_no_effect_is_refused_before_anything_is_sent(given: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        PanSVM.from_context(context()).start(None, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", serverapp.__all__)
def test_every_class_of_the_door_is_a_strategy_with_its_settings(name: str) -> None:
    strategy = getattr(serverapp, name).from_context(context({"pansvm.sites": 3}))
    assert STRATEGIES.name_of(type(strategy)) == strategy.settings.strategy


@pytest.mark.parametrize("data", [None, "rows.csv", pd.DataFrame()])
def test_rows_have_to_be_a_function(data: Any) -> None:
    with pytest.raises(SettingError):
        client_app(data=data)


@pytest.mark.parametrize("package", ["clients", "strategies"])
def test_an_apps_own_folder_of_the_same_name_is_an_error_that_says_so(package: str, tmp_path: Path) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    door = "clientapp import client_app" if package == "clients" else "serverapp import PanSVM"
    done = subprocess.run(
        [sys.executable, "-c", f"from flower_pansvm.{door}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert package in done.stderr.splitlines()[-1]


def written(folder: Path) -> Path:
    """Write the page's app into a folder of its own."""
    assert {*FILES} == {"pyproject.toml", "my_client.py", "my_server.py"}
    assert sum(len(text.splitlines()) for text in FILES.values()) < 60
    for name, text in FILES.items():
        (folder / name).write_text(text.replace("/tmp/my-model.npz", str(folder / "model.npz")))
    return folder


def test_the_pages_app_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(written(tmp_path))
    nested = tomllib.loads((tmp_path / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    own = {**nested["pansvm"], "sites": 3}
    config = {"out": nested["out"], **{f"pansvm.{key}": value for key, value in own.items()}}
    client, server = import_module("my_client"), import_module("my_server")
    server.app(grid_of(client.app, config), context(config))
    assert load_model(tmp_path / "model.npz").schema_.classes == ("0", "1", "2")
