"""The coordinator's share of the cutting planes: the master problem, its bounds, and the points asked next."""
