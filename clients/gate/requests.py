"""What a site does not accept of a request, before it computes anything."""

from clients.site import Site
from flower_pansvm.errors import SettingError

MOST_NUMBERS = (
    2**28
)  # most numbers in a site's answer, two gigabytes: a few bytes of a request must not ask for more


def check_size(site: Site, numbers: float) -> None:
    """Check that a request asks for no more numbers than a site gives at once, before room is made for them."""
    if not 0 <= numbers <= MOST_NUMBERS:
        raise SettingError(
            f"Site '{site.name}' was asked for more than {MOST_NUMBERS} numbers at once, or for less than none. Use "
            "fewer landmarks, points per round trip or folds."
        )
