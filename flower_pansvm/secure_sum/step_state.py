"""What a site keeps between two relay steps of a sum, under the sum's and the step's own label."""

from flower_pansvm.errors import SumError
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.wire import join_fields, sum_context


def save_step_state(this: SumRound, step: int, secret: bytes) -> bytes:
    """Return what a site keeps until relay step ``step`` of this sum."""
    return _label(this, step) + secret


def load_step_state(kept: bytes, this: SumRound, step: int, site: str) -> bytes:
    """Return the secret that was saved for relay step ``step`` of this sum."""
    label = _label(this, step) if step >= 0 else b""
    if step < 0 or not kept.startswith(label):
        raise SumError(
            f"Site {site!r} refuses step {step} of a secure sum: it was done already, is not this site's turn, "
            "or belongs to another sum. A message was repeated or re-ordered; repeat the sum under a new attempt."
        )
    return kept[len(label) :]


def _label(this: SumRound, step: int) -> bytes:
    return join_fields(sum_context(this), step.to_bytes(8, "big"))
