"""Private and hybrid SVM: noise on the weights of a model."""
