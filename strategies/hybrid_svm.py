"""Hybrid SVM (Li et al. 2014): private SVM with frequencies that are fitted to a few public rows."""

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from strategies.private_svm import PrivateSvm
from strategies.registry import strategies
from strategies.steps.frequencies import fitted, generator_of


@strategies.register("hybrid-svm")
class HybridSvm(PrivateSvm):
    """As private SVM, with frequencies that are fitted: few such ones have a closer kernel than few drawn ones."""

    public_by_default = "20"

    def _frequencies(self, public: Floats, sigma: float) -> Floats:
        """Return frequencies that make the map's kernel nearly the RBF kernel between the public rows."""
        if len(public) == 0:
            raise SettingError(
                "hybrid-svm fits its map to public rows, and public=0 names none. Name a CSV file of rows that nobody "
                "has to protect, as an absolute path; or choose private-svm, which needs none."
            )
        return fitted(public, self.settings.frequencies, sigma, generator_of(self.settings.seed))
