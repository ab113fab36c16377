"""Mixtures: tasks, adaptive EM and the classes' models."""
