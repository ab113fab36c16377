"""Labels: which texts can be classes, and which two are the same in another spelling."""

import pytest

from flower_pansvm.labels import can_be_class, can_be_listed, canonical_label, misspelt, spelling

LABELS = (
    "0|-1|+1|007|1.0|999999|TRUE|benign|bösartig|Type 2|grade-III|<=50K|>50_1|C50.9|ER+/PR-|+|-|<50|1-2|A"
    "|adenocarcinoma (mixed)|" + "x" * 24
)


@pytest.mark.parametrize("label", LABELS.split("|"))
def test_whole_numbers_and_short_words_are_labels(label: str) -> None:
    assert can_be_class(canonical_label(label))


NO_LABELS = (
    "12.5|-0.25|.5|1.5e3|1e5|1e-07|inf|1000000|20140311|P0012345|2014-03-11|11.03.2014|1/5/20|2014-03-11 08:00:00"
    "|11 Mar 2014|2014-03-11T08:00|Meier, Anna|anna@example.org|a\nb|\x1b[31mred|1;2|a'b||"
    + "|".join(("9" * 400, "x" * 25, "６" * 7))
)


@pytest.mark.parametrize("label", NO_LABELS.split("|"))
def test_measurements_dates_and_long_texts_are_not(label: str) -> None:
    assert not can_be_class(canonical_label(label))


SPELLINGS = (
    "Yes=yes|YES=yes|Stage Two=stage two|STAGE II=Stage ii|Type-2B=type-2b|ER+/PR-=er+/pr-|Stage IIa=stage IIa"
    "|Type 2=type2|Type  2=Type 2|yes=1|Y=True|No=0|neg=n|negative=False|pos=Positive|Cafe\u0301=café"
    "|a\u00a0b=a b|STRASSE=straße"
)


@pytest.mark.parametrize("pair", SPELLINGS.split("|"))
def test_spellings_of_the_same_label(pair: str) -> None:
    one, other = map(canonical_label, pair.split("="))
    assert spelling(one) == spelling(other)
    if one != other:
        assert misspelt([one], [other, "x"]) == [one]
    assert misspelt([other], [other, "x"]) == []


def test_letters_digits_and_signs_are_labels_of_their_own() -> None:
    labels = [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *map(str, range(2, 10)), "-1", "type-1", "type-2"]
    assert len(set(map(spelling, labels))) == len(labels)
    vowels = ["hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed"]
    assert len(set(map(spelling, vowels))) == len(vowels), "written on purpose"
    assert len({spelling(label) for label in ("0", "1", "-1", "2")}) == 4


def test_a_class_that_a_hospital_lists_may_hold_a_comma() -> None:
    assert can_be_listed("Diabetes, type 2")
    assert not can_be_class("Diabetes, type 2")
    assert not can_be_listed("11,3,2014,")
