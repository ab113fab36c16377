"""The coordinator's half of secure sums for other Flower apps, which import :mod:`flower_pansvm.secagg`."""
