"""The keys of a simulation in the node config of a real node, as Flower's own guides write them."""

from pathlib import Path

from flwr.app import Context, Message, RecordDict

from flower_pansvm import records
from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.common import JOIN, JoinAnswer, JoinQuestion
from flower_pansvm.systems.ensemble import HELD_OUT
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import Nothing
from flower_pansvm.terms import Scalar
from simulations.app import app
from simulations.attack.active.hospitals import Hospitals, class_names
from simulations.attack.active.registry import Attempt, refusal

TABLES = {"first": 60, "second": 60, "third": 60}


def ask_for_rows(folder: Path) -> Attempt:
    """Request test rows and exact sums, which need a consent."""
    hospitals = Hospitals(folder, TABLES, test_fraction=0.2)
    for index, node in enumerate(hospitals.nodes.values()):
        node |= {"partition-id": index, "num-partitions": len(TABLES)}
    coordinator = hospitals.coordinator()
    cells, numbers, why = 0, 0, ""
    try:
        coordinator.join()
        numbers = coordinator.ask(MOMENTS, Nothing()).total.size
        cells = sum(
            answer.rows.size for answer in coordinator.federation.collect(HELD_OUT, Nothing()).values()
        )
    except PanSVMError as error:
        why = f"; {refusal(error)}"
    return Attempt(f"{cells} cells of test rows, {numbers} exact sums{why}", "none", cells + numbers == 0)


def name_a_file(folder: Path) -> Attempt:
    """Have a real node read a table named by the coordinator, and disclose its columns."""
    hospitals = Hospitals(folder, TABLES)
    other = folder / "other.csv"
    other.write_text((folder / "first.csv").read_text().replace("x0", "staff"), encoding="utf-8")
    run_config = dict(hospitals.settings.run_config) | {"data": str(other), "schema": "", "sites": 2}
    node: dict[str, Scalar] = {"partition-id": 0, "num-partitions": 2}
    content = RecordDict()
    records.write(content, "inputs", JoinQuestion((), class_names(2)))
    # As a SuperNode does: in a grid of this project the site would be simulated. Flower needs a run all the same.
    hospitals.grid()
    reply = app(Message(content, 7, JOIN.message_type), Context(1, 7, node, RecordDict(), run_config))
    if reply.has_error():
        return Attempt(refusal(PanSVMError(str(reply.error.reason))), "none", held=True)
    columns = records.read(reply.content, "disclosed", JoinAnswer).columns
    got = f"{len(columns)} column names of a file that the coordinator named"
    return Attempt(got, "none", "staff" not in columns)
