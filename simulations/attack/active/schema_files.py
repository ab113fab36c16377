"""A schema file that reads a table otherwise: where two copies differ, or one is missing, a true cell is known."""

from collections.abc import Mapping
from pathlib import Path

from flower_pansvm.errors import PanSVMError
from simulations.attack.active.hospitals import Hospitals
from simulations.attack.active.nearness import asked_at
from simulations.attack.active.registry import Attempt, attack, refusal

TABLES = {"first": 100, "second": 110, "third": 120}
CLASSES = "classes = [0, 1]\n"
FILES: Mapping[str, str] = {
    "remarks": f'{CLASSES}reading.comment = "0.1"\n',
    "a footer": f"{CLASSES}reading.skip-footer = 10\n",
    "a class": 'classes = ["0", "01"]\n',
}
"""What is said in place of the classes: some rows are remarks or a footer, or a class is spelt otherwise."""


@attack(
    "schema-files",
    promise="perturbed: a record has one copy, whichever schema file a hospital is sent.",
    tries="Sends schema files that leave out rows by their first cell or place, or spell one of the classes otherwise.",
)
def play(folder: Path) -> Attempt:
    """Count the records whose copies are missing, or have another label, after another schema file."""
    hospitals = Hospitals(folder, TABLES, asked_at("perturbed"))
    told, why = 0, ""
    files = {name: Path(str(node["schema"])) for name, node in hospitals.nodes.items()}
    for name, file in files.items():
        first, text = hospitals.copy_of(name), file.read_text(encoding="utf-8")
        for said in FILES.values():
            file.write_text(text.replace(CLASSES, said), encoding="utf-8")
            try:
                told += len(first) - len(first.merge(hospitals.copy_of(name)))
            except PanSVMError as error:
                why = f"; {refusal(error)}"
        file.write_text(text, encoding="utf-8")
    return Attempt(f"something of {told} of {sum(TABLES.values())} records{why}", "none", told == 0)
