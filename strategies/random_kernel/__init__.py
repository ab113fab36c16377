"""SVM of random kernels."""

from strategies.random_kernel.strategy import RandomKernel as RandomKernel
