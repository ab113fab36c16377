"""Which columns a site has where sites hold different ones: sites with the same columns are a column block."""

from clients.site import Site
from flower_pansvm.arrays import Bools
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.systems.common import LAYOUT, LayoutBroadcast


def layout_of(site: Site) -> LayoutBroadcast:
    """Return which sites hold which columns; a second layout in a run is a FederationError."""
    site.require_same(
        LAYOUT.name, site.digest_of(LAYOUT), "a second layout: another site could claim its columns"
    )
    return site.get_broadcast(LAYOUT)


def block_number(site: Site) -> int:
    """Return the number of a site's column block; FederationError if the layout does not have the site."""
    told = layout_of(site)
    if site.name not in told.sites or len(told.blocks) != len(told.sites):
        raise FederationError(f"Site '{site.name}' is missing in the run's layout. {NOT_FOLLOWED}")
    return int(told.blocks[told.sites.index(site.name)])


def column_block(site: Site) -> tuple[str, ...]:
    """Return the names of the sites that hold the same columns as this one, itself among them."""
    own, told = block_number(site), layout_of(site)
    return tuple(name for name, block in zip(told.sites, told.blocks, strict=True) if block == own)


def own_columns(site: Site) -> Bools:
    """Return which of the schema's columns a site has."""
    own: Bools = layout_of(site).columns == block_number(site)
    if len(own) != len(site.schema().columns):
        raise FederationError(f"Site '{site.name}' was not told the block of each column. {NOT_FOLLOWED}")
    return own
