"""docs/settings.md holds every setting as it is now."""

from flower_pansvm.cli import COMMANDS, command_at
from simulations.data.partition import SPLITS
from simulations.markdown import markdown
from simulations.settings_page import PAGE, page
from strategies.settings import default_config


def test_the_page_is_what_the_settings_say() -> None:
    again = "docs/settings.md is old: write it again with python -m simulations.settings_page"
    assert PAGE.read_text(encoding="utf-8") == page(), again


def test_a_bar_in_a_cell_begins_no_other_cell() -> None:
    assert markdown(["of", "what"], [["a|b", "c"]]).splitlines()[-1] == r"| a\|b | c |"


def test_every_setting_has_a_line() -> None:
    lines = page().splitlines()
    for key in default_config():
        assert sum(line.startswith(f"| `{key}` |") for line in lines) == 1, key


def test_the_setting_and_the_option_of_a_comparison_name_every_split() -> None:
    options = command_at(COMMANDS["compare"].target).params
    (of_comparison,) = (str(option.help) for option in options if option.name == "splits")
    kinds = {name.partition(":")[0] for name in SPLITS}
    for text in (of_comparison, PAGE.read_text(encoding="utf-8")):
        assert {kind for kind in kinds if kind not in text} == set()
