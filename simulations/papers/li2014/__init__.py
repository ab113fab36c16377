"""H. Li et al., Privacy Preserving RBF Kernel Support Vector Machine, BioMed Research International 2014."""
