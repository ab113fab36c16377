"""PAN-SVM."""

from strategies.pan_svm.strategy import PanSVM as PanSVM
