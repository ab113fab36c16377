"""Differential privacy: what a promise costs, and the noise that keeps it."""
