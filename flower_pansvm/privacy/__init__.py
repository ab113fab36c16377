"""Differential privacy: accounting, and noise."""
