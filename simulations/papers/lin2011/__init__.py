"""Tables and figures of P. Lin et al., Feature Selection: A Preprocess for Data Perturbation, 2011."""
