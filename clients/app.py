"""The ClientApp: which task of the coordinator's is answered by which local work.

Start it with ``flower-supernode``; ``docs/deployment.md`` has the commands.
"""

from flwr.clientapp import ClientApp

from clients import common, landmarks, pan_svm, selection
from clients.answering import Handler, relay
from flower_pansvm import messages
from flower_pansvm.messages import Task

WORK: dict[Task, Handler] = {
    messages.JOIN: common.join,
    messages.MOMENTS: common.moments,
    messages.ROWS: common.rows,
    messages.EXTREMES: common.extremes,
    messages.LANDMARKS: landmarks.landmarks,
    messages.ASSIGN: landmarks.assign,
    messages.BOX: landmarks.box,
    messages.WARM_START: pan_svm.warm_start,
    messages.CUTS: pan_svm.cuts,
    messages.SCORES: common.scores,
    messages.CLASS_MOMENTS: selection.class_moments,
    messages.SUPPORT: selection.support,
    messages.RELAY: relay,
}

app = ClientApp()

for task, handler in WORK.items():
    register = {"query": app.query, "train": app.train, "evaluate": app.evaluate}[task.category]
    register(task.name)(handler)
