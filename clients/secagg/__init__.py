"""A site's half of secure sums for other Flower apps; their door is :mod:`flower_pansvm.secagg`."""
