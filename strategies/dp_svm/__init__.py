"""Kernel SVM with differential privacy."""

from strategies.dp_svm.strategy import DpSvm as DpSvm
