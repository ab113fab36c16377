"""The copy of a table that all systems see at level `perturbed`."""

from clients.perturb.copy import check_copy as check_copy
from clients.perturb.copy import copy_of as copy_of
from clients.perturb.copy import perturbed_table as perturbed_table
from clients.perturb.draws import PerturbedTerms as PerturbedTerms
