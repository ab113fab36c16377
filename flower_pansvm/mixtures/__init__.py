"""Gaussian mixtures: what sites and coordinator do alike with the models of classes (Luo et al. 2009)."""
