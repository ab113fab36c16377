"""The errors this project raises on purpose.

Every message says what happened, the likely cause and how to fix it. It never holds a value from a patient's row, nor
how many rows a site has or where in its table something is: the text may travel from a site to the coordinator. What
the site's own people need besides is the error's detail, which stays.
"""

from typing import ClassVar


class PanSVMError(Exception):
    """Base of all errors whose text is safe to show and to send.

    Parameters
    ----------
    text : str
        What happened, the likely cause and how to fix it; it may travel.
    detail : str
        What only the site itself may see, such as the number of a row. A hospital writes it into its own log.

    Attributes
    ----------
    code : int
        Number that travels in a Flower error reply, so that the coordinator can rebuild the class.
    """

    code: ClassVar[int] = 100

    def __init__(self, text: str = "", detail: str = "") -> None:
        super().__init__(text)
        self.detail = detail

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


class ValueRefusedError(SumError):
    """A site's own value does not fit a secure sum: to say so tells something about this site's rows alone."""


class TrainingError(PanSVMError):
    """The training cannot go on: no landmarks, a map of rank zero, a quadratic program that fails."""

    code = 104


class ModelFileError(PanSVMError):
    """A model file is damaged or was written by another version."""

    code = 105


class FederationError(PanSVMError):
    """The sites could not complete a round trip."""

    code = 106


class EngineError(PanSVMError):
    """Flower's own processes failed to start or to finish a run."""

    code = 107


class BudgetError(PanSVMError):
    """A hospital's budget for differential privacy does not allow an answer; this says nothing about its rows."""

    code = 108


def error_class(code: int) -> type[PanSVMError]:
    """Return the class whose ``code`` is given, the base class for an unknown code."""
    return next((cls for cls in PanSVMError.__subclasses__() if cls.code == code), PanSVMError)
