"""PAN-SVM: its tasks, k-means landmarks and cutting planes."""
