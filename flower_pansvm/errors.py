"""The errors this project raises on purpose.

Every message says what happened, the likely cause and how to fix it. It never holds a value from a patient's row, nor
how many rows a site has or where in its table something is: the text may travel from a site to the coordinator. What
the site's own people need besides is the error's detail, which stays.
"""

from typing import ClassVar

NOT_FOLLOWED = "Does the coordinator run the same version? If so, it does not follow the protocol."


class PanSVMError(Exception):
    """Base of all errors whose text is safe to show and to send."""

    code: ClassVar[int] = 100  # travels in an error reply, so that the coordinator can rebuild the class

    def __init__(self, text: str = "", detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail  # only for the site's own log, such as the number of a row

    def with_detail(self) -> str:
        """Return text and detail, for whoever may see the rows."""
        return f"{self} {self.detail}".strip()


class SettingError(PanSVMError):
    """A setting is unknown or has a value that cannot work."""

    code = 101


class TableError(PanSVMError):
    """A site's table cannot be read or does not fit the other sites' tables."""

    code = 102


class SumError(PanSVMError):
    """A secure sum was refused: a value does not fit, or the request breaks the protocol."""

    code = 103


class FederationError(PanSVMError):
    """The sites could not complete a round trip."""

    code = 106


class BudgetError(PanSVMError):
    """A hospital's budget for differential privacy does not allow an answer; this says nothing about its rows."""

    code = 108


class TrainingError(PanSVMError):
    """The training cannot go on: no landmarks, a map of rank zero, a quadratic program that fails."""

    code = 104


class ModelFileError(PanSVMError):
    """A model file is damaged or was written by another version."""

    code = 105


class EngineError(PanSVMError):
    """Flower's own processes failed to start or to finish a run."""

    code = 107


def install(extra: str) -> str:
    """Return how to install an extra of this project, as the end of a sentence.

    From a clone or a wheel: nobody has published a package of this name, and somebody else might.
    """
    return f"in the clone: pip install '.[{extra}]', or the same of its wheel"
