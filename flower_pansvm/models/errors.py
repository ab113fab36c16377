"""The errors of fitting, keeping and running models, which no hospital raises (:mod:`flower_pansvm.errors`)."""

from flower_pansvm.errors import PanSVMError


class TrainingError(PanSVMError):
    """The training cannot go on: no landmarks, a map of rank zero, a quadratic program that fails."""

    code = 104


class ModelFileError(PanSVMError):
    """A model file is damaged or was written by another version."""

    code = 105


class EngineError(PanSVMError):
    """Flower's own processes failed to start or to finish a run."""

    code = 107
