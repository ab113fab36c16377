"""Faults tried for real: ``python -m simulations.benchmarks.faults``; docs/faults.md has what came of each."""
