"""Which columns a site has where sites hold different ones: sites with the same columns are a column block."""

from flower_pansvm.arrays import Bools
from flower_pansvm.errors import NOT_FOLLOWED, FederationError
from flower_pansvm.systems.common import LayoutBroadcast


def block_number(layout: LayoutBroadcast, name: str) -> int:
    """Return the number of a site's column block; FederationError if the layout does not have the site."""
    if name not in layout.sites or len(layout.blocks) != len(layout.sites):
        raise FederationError(f"Site '{name}' is missing in the run's layout. {NOT_FOLLOWED}")
    return int(layout.blocks[layout.sites.index(name)])


def column_block(layout: LayoutBroadcast, name: str) -> tuple[str, ...]:
    """Return the names of the sites that hold the same columns as a site, itself among them."""
    own_block = block_number(layout, name)
    return tuple(site for site, block in zip(layout.sites, layout.blocks, strict=True) if block == own_block)


def own_columns(layout: LayoutBroadcast, name: str, columns: int) -> Bools:
    """Return the mask of the schema's columns that a site has, shape (columns,); FederationError if they are others."""
    mask: Bools = layout.columns == block_number(layout, name)
    if len(mask) != columns:
        raise FederationError(f"Site '{name}' received a layout of other columns. {NOT_FOLLOWED}")
    return mask
