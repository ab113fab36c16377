"""What a hospital says of its labels: nothing of a wrong column, no rare class, and no more than it lists."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message, RecordDict
from flwr.common.serde import message_to_proto

from clients.classes import allowed_classes, positive_labels
from clients.hospital import Hospital, SimulatedContext
from clients.labels_told import disclosed_classes
from clients.site import Site
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.errors import PanSVMError, SettingError, TableError
from flower_pansvm.lists import join_list
from flower_pansvm.systems.common import JOIN, JoinQuestion, SchemaBroadcast
from flower_pansvm.terms import Scalar
from simulations.app import app
from simulations.engines.in_process import InProcessGrid
from strategies.settings import make_settings
from tests.contexts import SIMULATED_NODE, own_hospital

pytestmark = pytest.mark.usefixtures("begun_ledgers")

Ask = Callable[..., Message]


@pytest.fixture
def ask_to_join(tmp_path: Path) -> Ask:
    """Return a function that asks a hospital whose table has these labels to join, as a coordinator would.

    Its own positive labels are those of the run, unless ``own`` says others, or none.
    """

    def ask(
        labels: Sequence[object], positive: Sequence[str] = (), own: str | None = None, **node: Scalar
    ) -> Message:
        frame = pd.DataFrame({"age": np.arange(len(labels)) % 7, "outcome": labels})
        frame.to_csv(tmp_path / "ward.csv", index=False)
        config: dict[str, Scalar] = {"data": str(tmp_path / "ward.csv"), "label": "outcome", "name": "north"}
        own = join_list(positive) if own is None else own
        config |= {"privacy": "exact"} | ({"positive": own} if own else {})
        names = {key.replace("_", "-"): value for key, value in node.items()}
        settings = make_settings(positive=",".join(positive), privacy="exact")
        grid = InProcessGrid(app, [{**config, **names}], settings.to_config())
        content = RecordDict()
        records.write(content, "inputs", JoinQuestion(tuple(positive)))
        (number,) = grid.get_node_ids()
        grid.push_messages([grid.create_message(content, f"{JOIN.category}.{JOIN.name}", number, "1")])
        return grid.replies[0]

    return ask


def holds(reply: Message, text: str) -> bool:
    """Return whether a reply's bytes have a text in them, in any case and as texts or arrays of texts travel."""
    sent = message_to_proto(reply).SerializeToString().lower()
    return any(text.lower().encode(code) in sent for code in ("utf-8", "utf-16-le", "utf-32-le"))


def classes_of(reply: Message) -> list[str]:
    assert not reply.has_error(), reply.error
    return [str(name) for name in records.get(reply.content, "disclosed")["classes"]]  # type: ignore[union-attr]


def names_of_patients(count: int) -> list[str]:
    generator = np.random.default_rng(0)
    syllables = ["an", "be", "ko", "li", "mu", "ra", "su", "to"]
    return [
        "".join(generator.choice(syllables, 4)).title() + f" {chr(97 + i % 26) * 3}" for i in range(count)
    ]


def refused(reply: Message) -> str:
    """Return the text of a refusal, after a check that it says which column of which file, and what to do."""
    assert (reply.has_error(), reply.error.code) == (True, TableError.code)
    text = str(reply.error.reason)
    assert "column 'outcome' of 'ward.csv'" in text
    assert "positive" in text
    return text


def test_what_a_reply_holds_is_noticed(ask_to_join: Ask) -> None:
    """Otherwise the tests below would not see a name that leaves."""
    reply = ask_to_join(["malignant"] * 9 + ["benign"] * 9)
    assert holds(reply, "malignant")
    assert holds(reply, "age")
    assert not holds(reply, "patient")


@pytest.mark.parametrize("rows", [1, 6])
def test_two_hundred_names_of_patients_stay(rows: int, ask_to_join: Ask) -> None:
    names = names_of_patients(200)
    reply = ask_to_join(names * rows)
    refused(reply)
    assert not any(holds(reply, part) for name in names for part in (name, name.split()[0]))
    assert not reply.has_content()


def test_a_few_names_that_look_like_labels_stay_too(ask_to_join: Ask) -> None:
    """20 patients are no more than 30 classes, and a name may be a short word."""
    names = names_of_patients(20)
    reply = ask_to_join(names)
    assert classes_of(reply) == []
    assert not any(holds(reply, name) for name in names)


@pytest.mark.parametrize("label", ["12.5", "P0012345"])
def test_one_value_that_is_no_label_is_enough_to_refuse(label: str, ask_to_join: Ask) -> None:
    reply = ask_to_join(["0", "1"] * 40 + [label])
    refused(reply)
    assert not holds(reply, label)


def test_up_to_thirty_classes_and_no_more(ask_to_join: Ask) -> None:
    assert len(classes_of(ask_to_join([f"c{number}" for number in range(30)] * 5))) == 30
    refused(ask_to_join([f"c{number}" for number in range(31)] * 5))


def test_a_class_is_named_by_a_hospital_with_enough_rows_of_it(ask_to_join: Ask) -> None:
    labels = ["common"] * 20 + ["five"] * 5 + ["four"] * 4
    reply = ask_to_join(labels)
    assert classes_of(reply) == ["common", "five"]
    assert not holds(reply, "four")
    assert classes_of(ask_to_join(labels, min_cluster=6)) == ["common"]
    assert classes_of(ask_to_join(labels, min_cluster=4)) == ["common", "five", "four"]


def test_with_positive_labels_only_positive_and_negative_are_named(ask_to_join: Ask) -> None:
    labels = [str(number) for number in range(40)] * 3
    assert classes_of(ask_to_join(labels, ["3", "4"])) == ["negative", "positive"]
    assert classes_of(ask_to_join(labels, ["3"])) == ["negative"], "three rows are positive"
    names = names_of_patients(200)
    reply = ask_to_join(names, [names[0]])
    assert classes_of(reply) == ["negative"]
    assert not any(holds(reply, name) for name in names)


def test_a_list_of_classes_is_the_answer_whatever_the_table_holds(ask_to_join: Ask) -> None:
    replies = [
        ask_to_join(labels, classes="1.0, benign,0")
        for labels in (["0", "1"] * 9, ["benign"] * 9, ["2", "3"] * 9, names_of_patients(200), ["12.5"] * 9)
    ]
    assert [classes_of(reply) for reply in replies] == [["0", "1", "benign"]] * 5
    sizes = {len(message_to_proto(reply).SerializeToString()) for reply in replies}
    assert max(sizes) - min(sizes) <= 8, "lengths of signatures and of times differ"


def test_of_a_list_of_classes_positive_labels_make_two(ask_to_join: Ask) -> None:
    for labels in (["0"] * 9, ["1", "2"] * 9):
        assert classes_of(ask_to_join(labels, ["2", "7"], classes="0,1,2")) == ["negative", "positive"]
        assert classes_of(ask_to_join(labels, ["7"], classes="0,1,2")) == ["negative"]
    reply = ask_to_join(["Yes", "No"] * 9, ["yes"], classes="Yes,No")
    assert "list 'classes' in the node config of site 'north'" in str(reply.error.reason)


@pytest.mark.parametrize(("key", "labels_of"), [("classes", allowed_classes), ("positive", positive_labels)])
@pytest.mark.parametrize(
    "listed", ["", " , ", "0,,1", "0,12.5", "0;1", "x" * 25, ",".join(map(str, range(31)))]
)
def test_a_list_of_labels_that_cannot_be_is_an_error(
    listed: str, key: str, labels_of: Callable[[Hospital], tuple[str, ...]]
) -> None:
    with pytest.raises(SettingError, match=f"'{key}'"):
        labels_of(own_hospital({"data": "ward.csv", "name": "north", key: listed}))


@pytest.mark.parametrize(
    ("own", "asked"),
    [
        *(("", asked) for asked in (["malignant"], ["benign", "malignant"])),
        *(("malignant", asked) for asked in ([], ["benign"], ["Malignant"], ["malignant", "relapse"])),
        *((own, ["malignant"]) for own in ("malignant,relapse", "malignnat")),
    ],
)
@pytest.mark.parametrize("node", [{}, {"classes": "benign,malignant,relapse"}], ids=str)
def test_a_run_whose_positive_labels_are_not_the_hospitals_is_refused(
    node: dict[str, Scalar], own: str, asked: list[str], ask_to_join: Ask
) -> None:
    """Before its table is looked at: the answer is the same whatever the rows are."""
    tables = (["benign", "malignant"] * 9, ["O'Hara"] * 9)
    replies = [ask_to_join(labels, asked, own, **node) for labels in tables]
    assert {reply.error.code for reply in replies} == {SettingError.code}
    (text,) = {str(reply.error.reason) for reply in replies}
    assert "benign" not in text


def test_positive_labels_may_be_written_in_any_order_and_form(ask_to_join: Ask) -> None:
    for own, asked in (("2, 1", ["1", "2"]), ("1.0,+2", ["2", "1", "1"])):
        assert classes_of(ask_to_join(["0", "1", "2"] * 9, asked, own)) == ["negative", "positive"]


def test_the_schema_files_positive_labels_hold_unless_the_node_config_has_others(
    ask_to_join: Ask, tmp_path: Path
) -> None:
    path = tmp_path / "schema.toml"
    path.write_text("classes = [0, 1, 2]\npositive = [1, 2]\n[columns.age]\n")
    asked, schema = ["1", "2"], {"schema": str(path)}
    assert classes_of(ask_to_join(["0", "1"] * 9, asked, "", **schema)) == ["negative", "positive"]
    for refused, own in (([], ""), (["1"], ""), (asked, "2")):
        reply = ask_to_join(["0", "1"] * 9, refused, own, **schema)
        assert reply.error.code == SettingError.code


@pytest.mark.parametrize(
    ("labels", "positive"), [(["Relapse", "relapse", "0"], ()), (["Relapse", "none"], ("relapse",))]
)
def test_two_spellings_in_one_table_are_refused_without_showing_them(
    labels: list[str], positive: tuple[str, ...], ask_to_join: Ask
) -> None:
    assert "elapse" not in refused(ask_to_join(labels * 9, positive))
    assert classes_of(ask_to_join([*labels, "0"] * 9, ["Relapse", "relapse"])) == ["negative", "positive"]


def test_an_error_about_a_spelling_tells_of_no_single_rows(ask_to_join: Ask) -> None:
    with_some = ask_to_join(["0"] * 20 + ["Anna"] * 4, ["anna"])
    without = ask_to_join(["0"] * 24, ["anna"])
    assert classes_of(with_some) == classes_of(without) == ["negative"]


def test_a_wrong_column_is_refused_however_the_coordinator_goes_on(tmp_path: Path) -> None:
    """It may have asked for positive and negative when the site joined, and then name patients as classes."""
    names = names_of_patients(200)
    pd.DataFrame({"age": range(200), "outcome": names}).to_csv(tmp_path / "ward.csv", index=False)
    here = own_hospital({"data": str(tmp_path / "ward.csv"), "label": "outcome", "name": "north"})
    records.write(
        content := RecordDict(),
        "broadcast.schema",
        SchemaBroadcast(("age",), tuple(names[:2]), (), 0.2, 0, 0),
    )
    here.keep_broadcasts(content)
    with pytest.raises(TableError, match="hold") as caught:
        Site.of(here, "exact").train()
    assert not any(name in str(caught.value) for name in names)


def labelled(*labels: str) -> Table:
    return Table(("age",), np.zeros((len(labels), 1)), np.array(labels))


def test_simulated_sites_name_every_class(tmp_path: Path) -> None:
    here = own_hospital(SIMULATED_NODE, kind=SimulatedContext)
    assert disclosed_classes(here, labelled("a", "b", "b"), ()).tolist() == ["a", "b"]
    with pytest.raises(PanSVMError, match="'label'"):
        disclosed_classes(here, labelled("0.5", "1"), ())
