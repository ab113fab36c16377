"""Feature selection: by votes, by filters and wrapper, and one by one (Lu 2016, chapters 5 and 6)."""

from strategies.selection import filter_wrapper as filter_wrapper
from strategies.selection import voted_wrapper as voted_wrapper
