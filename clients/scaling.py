"""The scalings that the coordinator has broadcast, as the systems that scale rows use them."""

from clients.site import Site
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.common import SCALING


def scaled(site: Site, X: Floats, number: int = 0) -> Floats:
    """Return rows filled and scaled by one of the scalings, shape (rows, features)."""
    return scaling_of(site, number).transform(X)


def scaling_of(site: Site, number: int) -> Scaling:
    """Return one of the scalings; FederationError if it does not fit the site's columns."""
    told = site.get_broadcast(SCALING)
    sizes = {(len(told.fill), len(site.schema().columns))}
    fits = {told.fill.shape, told.shift.shape, told.scale.shape} == sizes and 0 <= number < len(told.fill)
    check_told(site, fits and bool((told.scale > 0).all()), "scalings")
    return Scaling(told.fill[number], told.shift[number], told.scale[number])


def check_told(site: Site, fits: bool, what: str) -> None:
    """Check that something that was broadcast fits the run; FederationError if not."""
    if not fits:
        raise FederationError(
            f"Site '{site.name}' was told {what} that do not fit its columns, or cannot be used. {NOT_FOLLOWED}"
        )
