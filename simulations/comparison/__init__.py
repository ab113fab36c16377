"""Strategies and baselines side by side, on the same data, splits and seeds: ``pansvm compare``."""
