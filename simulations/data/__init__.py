"""Data sets, and their partition over simulated sites."""
