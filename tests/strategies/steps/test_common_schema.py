"""The common schema: what sites may differ in, and how a disagreement is told."""

import itertools

import pytest

from flower_pansvm.errors import TableError
from flower_pansvm.schema import Schema, class_names
from strategies.steps.schema import common_schema

TWO = {"north": ["0", "1"], "south": ["0", "1"]}


def test_the_schema_does_not_depend_on_the_order_in_which_sites_answer() -> None:
    columns = {"north": ["a", "b"], "south": ["b", "a"], "east": ["b", "a"]}
    classes = {"north": ["x"], "south": ["y", "x"], "east": ["z"]}
    found = {
        common_schema({site: columns[site] for site in order}, {site: classes[site] for site in order})
        for order in itertools.permutations(columns)
    }
    assert found == {Schema(("b", "a"), ("x", "y", "z"))}


@pytest.mark.parametrize(
    ("north", "south", "told"),
    [
        (
            ["age", "dose"],
            ["age", "Dose"],
            r"'north' has no column 'Dose'.*site 'south' has.*Did you mean 'dose'",
        ),
        (["a", "b", "c", "d"], ["a"], "'south' has no column 'b'"),
        (["a"], ["a", "b"], "'north' has no column 'b'"),
    ],
)
def test_a_missing_column_is_told_with_the_sites_and_the_likely_name(
    north: list[str], south: list[str], told: str
) -> None:
    with pytest.raises(TableError, match=told):
        common_schema({"north": north, "south": south}, TWO)


def test_with_thousands_of_columns_the_error_stays_short() -> None:
    many = [f"gene{number}" for number in range(1500)]
    with pytest.raises(TableError, match="'gene7'") as error:
        common_schema({"north": many, "south": [name for name in many if name != "gene7"]}, TWO)
    assert len(str(error.value)) < 500


def numbered(count: int) -> list[str]:
    """Return the columns that LIBSVM text with this highest index has."""
    return [f"f{number}" for number in range(1, count + 1)]


def test_libsvm_sites_of_different_width_have_the_columns_of_the_widest() -> None:
    sites = {"a": numbered(9), "b": numbered(123), "c": numbered(122)}
    for order in itertools.permutations(sites):
        columns = {site: sites[site] for site in order}
        schema = common_schema(columns, {site: ["0", "1"] for site in sites}, (), ["a", "b", "c"])
        assert schema.columns == tuple(numbered(123))


def test_a_libsvm_site_may_be_narrower_than_one_that_names_its_columns() -> None:
    columns = {"north": ["f3", "f1", "f2"], "south": ["f1"]}
    assert common_schema(columns, TWO, (), ["south"]).columns == ("f3", "f1", "f2"), (
        "the order of the first site"
    )
    columns = {"north": ["f1"], "south": ["f3", "f10", "f1"]}
    assert common_schema(columns, TWO, (), ["north"]).columns == ("f1", "f3", "f10")


@pytest.mark.parametrize(
    ("north", "libsvm", "column"),
    [
        (["f1", "f2"], [], "f3"),
        (["f1", "f2"], ["south"], "f3"),
        (["f1", "f2", "f3", "age"], ["south"], "age"),
        (["f1", "f2", "f3", "f03"], ["south"], "f03"),
        (["f1", "f2", "f3", "f0"], ["south"], "f0"),
    ],
)
def test_only_numbered_columns_of_libsvm_sites_are_zero(
    north: list[str], libsvm: list[str], column: str
) -> None:
    with pytest.raises(TableError, match=f"has no column '{column}'"):
        common_schema({"north": north, "south": ["f1", "f2", "f3"]}, TWO, (), libsvm)


def test_a_class_may_be_missing_at_a_site() -> None:
    schema = common_schema({"north": ["a"], "south": ["a"]}, {"north": ["sick"], "south": ["healthy"]})
    assert schema.classes == ("healthy", "sick")


@pytest.mark.parametrize(
    ("classes", "positive", "told"),
    [
        ({"north": [], "south": []}, (), "no class"),
        ({"north": ["1"], "south": ["1"]}, (), "only the class '1'"),
        ({"north": ["negative"], "south": ["negative"]}, ("3",), "'positive' occur"),
    ],
)
def test_fewer_than_two_classes_are_an_error(
    classes: dict[str, list[str]], positive: tuple[str, ...], told: str
) -> None:
    with pytest.raises(TableError, match=told):
        common_schema({"north": ["a"], "south": ["a"]}, classes, positive)


def test_more_classes_than_can_be_are_an_error_that_shows_none() -> None:
    """Each of two sites may have few enough."""
    columns, names = {"north": ["a"], "south": ["a"]}, [f"name{number}" for number in range(31)]
    assert len(common_schema(columns, {"north": names[:20], "south": names[10:30]}).classes) == 30
    with pytest.raises(TableError) as error:
        common_schema(columns, {"north": names[:20], "south": names[10:]})
    assert "name1" not in str(error.value)


@pytest.mark.parametrize(
    ("found", "order"),
    [
        (["10", "9", "1", "-2"], ("-2", "1", "9", "10")),
        (["10", "9", "b", "a"], ("9", "10", "a", "b")),
        (["1.5", "1e1", "2"], ("1.5", "2", "1e1")),
        (["z", "nan", "3", "1", "inf"], ("1", "3", "inf", "nan", "z")),
    ],
)
def test_classes_are_in_natural_order_however_they_are_found(
    found: list[str], order: tuple[str, ...]
) -> None:
    for shuffled in itertools.permutations(found):
        assert common_schema({"north": ["a"]}, {"north": shuffled}).classes == order


def test_positive_labels_make_two_classes() -> None:
    names = class_names(["0", "3", "4", "1", "3"], ("3", "4"))
    assert names.tolist() == ["negative", "positive", "positive", "negative", "positive"]
    assert class_names(["0", "3"], ()).tolist() == ["0", "3"]
    assert class_names([], ("3",)).tolist() == []
    schema = common_schema({"north": ["a"]}, {"north": ["negative", "positive"]}, ("3", "4"))
    assert schema.indices(["0", "3", "9"]).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("negative", "positive"),
    [
        *(
            ("nein", "ja"),
            ("non", "oui"),
            ("nej", "ja"),
            ("nee", "ja"),
            ("não", "a"),
            ("ctl", "ad"),
            ("nc", "mci"),
        ),
        *(
            ("healthy donor", "CLL"),
            ("control group", "case group"),
            ("grade 0", "grade 3"),
            ("Normal_tissue", "ca"),
        ),
        *(
            ("relapse-free", "relapse"),
            ("negative (PCR)", "covid"),
            ("benign", "atypical"),
            ("0 events", "-9"),
        ),
        *(
            ("unauffällig", "Befund"),
            ("ohne Befund", "mit Befund"),
            ("negativo", "covid"),
            ("überlebt", "gestorben"),
            ("Überlebend", "Verstorben"),
            ("survivant", "décès"),
        ),
    ],
)
def test_a_class_that_looks_negative_is_not_the_positive_one(negative: str, positive: str) -> None:
    for order in ([negative, positive], [positive, negative]):
        assert common_schema({"a": ["x"]}, {"a": order}).classes == (negative, positive)


@pytest.mark.parametrize("classes", [("benign", "normal"), ("-1", "0"), ("control", "healthy"), ("a", "b")])
def test_where_names_do_not_tell_order_does(classes: tuple[str, str]) -> None:
    assert common_schema({"a": ["x"]}, {"a": classes[::-1]}).classes == classes
