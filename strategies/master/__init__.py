"""The coordinator's part of cutting planes: the master problem, its bounds, and the points of the next round."""
