"""PAN-SVM."""
