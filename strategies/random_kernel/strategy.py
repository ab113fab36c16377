"""Random-kernel SVM on checkerboards of rows and columns (Mangasarian & Wild 2008, Algorithms 2.1 and 3.1)."""

from dataclasses import dataclass
from logging import WARNING
from typing import Any, ClassVar

import numpy as np

from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.constraints import number, setting, whole
from flower_pansvm.counts import confusion_counts, decision_histogram
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.kernels import Kernel
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.random_kernel_svc import RandomKernelParts, RandomKernelSVC
from flower_pansvm.systems.common import LAYOUT
from flower_pansvm.systems.random_kernel import KERNEL_POINTS, KernelQuestion
from strategies.api import (
    Federation,
    KernelSettings,
    Outcome,
    PhasedStrategy,
    check_classes,
    join,
    layout_of,
    log,
    or_word,
    tell_scalings,
)
from strategies.random_kernel.training import (
    KernelRows,
    count_rows,
    gather_kernel,
    learn_ranges,
    one_norm_svm,
    rows_of_matrix,
    scale_of,
)


@dataclass(frozen=True)
class RandomKernelSettings(KernelSettings):
    """The kernel, whose gamma is the paper's mu; the weight of the loss, its nu; and the rows of the matrix."""

    # Not C: of a 1-norm SVM on a few random rows, one number is another penalty than of the other SVMs.
    C_random_kernel: float = setting(
        10.0, number(above=0), "Penalty of rows on the wrong side, in the 1-norm SVM of random-kernel."
    )
    random_kernel_rows: int | None = setting(
        None,
        or_word("auto", whole(1)),
        "Rows of the random matrix; auto: the columns of the smallest block minus 1, at most a tenth of all rows.",
    )


class RandomKernel(PhasedStrategy):
    """Each cell (i, j) of the checkerboard discloses K(A_ij, B_j'), where its column block alone knows B_j.

    Labels are disclosed, too. Whoever knows B_j has an equation for each number: docs/rivals.md.
    """

    settings_class = RandomKernelSettings
    settings: RandomKernelSettings
    several_classes: ClassVar[bool] = False
    by_columns: ClassVar[bool] = True
    makes_model: ClassVar[bool] = False

    def fit(self, federation: Federation) -> Outcome:
        """Agree on B_j, gather the cells' kernels, and solve the 1-norm SVM; then classify the test rows."""
        chosen, phase = self.settings, federation.costs.phase
        log(WARNING, "random-kernel discloses numbers of every row: see docs/rivals.md for who can undo them")
        with phase("join"):
            schema = join(federation, chosen, by_columns=True)
            check_classes(chosen.strategy, schema.classes)
            layout = layout_of({name: site.columns for name, site in federation.sites.items()}, schema)
            if layout.blocks.any() and chosen.level == "perturbed":
                raise SettingError(
                    "The sites hold different columns of the same rows. At level perturbed each site would give a row "
                    "another label. Set privacy=exact, if the hospitals agree to that level; or give each site rows "
                    "with all columns."
                )
            federation.broadcast(LAYOUT, layout)
        with phase("random matrix"):
            size = rows_of_matrix(chosen.random_kernel_rows, count_rows(federation, layout), layout)
        with phase("scaling"):
            scaling = learn_ranges(federation, layout)
            tell_scalings(federation, [scaling])
        nu, (mu,) = chosen.C_random_kernel, chosen.gamma_values(scale_of(len(schema.columns)))
        question = KernelQuestion(chosen.kernel, mu, size)
        with phase("kernel rows"):
            train = gather_kernel(federation, layout, question)
        if len(set(train.classes.tolist())) < 2:
            raise TableError("The sites' training rows are all of one class. Lower test-fraction.")
        with phase("linear program"):
            u, threshold = one_norm_svm(train.K, np.where(train.classes == 1, 1.0, -1.0), nu)
        if not u.any():
            log(
                WARNING,
                "all weights are 0, so every row gets the same class: C-random-kernel=%g is too small",
                nu,
            )
        kernel = Kernel(chosen.kernel, mu)  # type: ignore[arg-type]
        parts = RandomKernelParts(scaling, kernel, u, threshold, layout.columns, train.digests)
        model = RandomKernelSVC.from_parts(schema, parts)
        with phase("evaluation"):
            test = gather_kernel(federation, layout, question, KERNEL_POINTS)
            evaluation = tried(model.of_kernel(test.K), test.classes)
        return Outcome(model, evaluation, _figures(train, model))


def tried(decisions: Floats, classes: Ints) -> Evaluation:
    """Return how good decision values of test rows are."""
    confusion = confusion_counts(classes, (decisions > 0).astype(np.int64), 2)
    scale = float(np.median(np.abs(decisions))) if decisions.any() else 1.0
    histogram = decision_histogram(decisions, classes == 1, scale=scale or 1.0)
    return Evaluation.from_counts(confusion, histogram[None])


def _figures(train: KernelRows, model: RandomKernelSVC) -> dict[str, Any]:
    return {
        "rows_train": len(train.classes),
        "rows_train_by_class": np.bincount(train.classes, minlength=2).tolist(),
        "rows_of_matrix": train.K.shape[1],
        "row_blocks": len(train.row_blocks),
        "column_blocks": len(train.digests),
        "gamma": model.parts_.kernel.gamma,
        "weights_in_use": int(np.count_nonzero(model.parts_.u)),
    }
