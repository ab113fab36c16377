"""SVM of random kernels."""
