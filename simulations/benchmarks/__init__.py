"""Benchmarks: each writes the figures of the pages to ``results/NAME.json``."""
