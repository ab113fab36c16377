"""Private and hybrid SVM: noise on the weights of a model."""

from strategies.output_perturbation.strategies import HybridSvm as HybridSvm
from strategies.output_perturbation.strategies import PrivateSvm as PrivateSvm
