"""Kernel SVM with differential privacy."""
