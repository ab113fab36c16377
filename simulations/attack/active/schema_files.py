"""A schema file that changes the reading of a table: a changed or missing copy reveals a true cell."""

from collections.abc import Mapping
from pathlib import Path

from flower_pansvm.errors import PanSVMError
from simulations.attack.active.hospitals import Hospitals
from simulations.attack.active.nearness import asked_at
from simulations.attack.active.registry import Attempt, refusal

TABLES = {"first": 100, "second": 110, "third": 120}
CLASSES = "classes = [0, 1]\n"
FILES: Mapping[str, str] = {
    "remarks": f'{CLASSES}reading.comment = "0.1"\n',
    "a footer": f"{CLASSES}reading.skip-footer = 10\n",
    "a class": 'classes = ["0", "01"]\n',
}
"""Replacements of the line of classes: some rows are comments or a footer, or a class has another spelling."""


def play(folder: Path) -> Attempt:
    """Count the records whose copies are missing, or have another label, with another schema file."""
    hospitals = Hospitals(folder, TABLES, asked_at("perturbed"))
    changed, why = 0, ""
    files = {name: Path(str(node["schema"])) for name, node in hospitals.nodes.items()}
    for name, file in files.items():
        copy, text = hospitals.copy_of(name), file.read_text(encoding="utf-8")
        for description in FILES.values():
            file.write_text(text.replace(CLASSES, description), encoding="utf-8")
            try:
                changed += len(copy) - len(copy.merge(hospitals.copy_of(name)))
            except PanSVMError as error:
                why = f"; {refusal(error)}"
        file.write_text(text, encoding="utf-8")
    return Attempt(f"something of {changed} of {sum(TABLES.values())} records{why}", "none", changed == 0)
