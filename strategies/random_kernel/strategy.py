"""Random-kernel SVM on checkerboards of rows and columns (Mangasarian & Wild 2008, Algorithms 2.1 and 3.1)."""

from dataclasses import dataclass
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
    broadcast_scalings,
    check_classes,
    join,
    layout_of,
    logger,
    or_word,
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

    # Not C: in a 1-norm SVM on a few random rows, the same number penalises differently than in the other SVMs.
    C_random_kernel: float = setting(
        10.0, number(above=0), "Penalty of rows on the wrong side, in the 1-norm SVM of random-kernel."
    )
    random_kernel_rows: int | None = setting(
        None,
        or_word("auto", whole(1)),
        "Rows of the random matrix; auto: the columns of the smallest block minus 1, at most a tenth of all rows.",
    )


class RandomKernel(PhasedStrategy):
    """Each cell (i, j) of the checkerboard discloses K(A_ij, B_j'); only its column block knows B_j.

    Labels are disclosed, too. B_j gives an equation for each number to anyone who knows it: docs/rivals.md.
    """

    settings_class = RandomKernelSettings
    settings: RandomKernelSettings
    several_classes: ClassVar[bool] = False
    by_columns: ClassVar[bool] = True
    makes_model: ClassVar[bool] = False

    def fit(self, federation: Federation) -> Outcome:
        """Collect the cells' kernels, solve the 1-norm SVM, and evaluate it on the test rows.

        TableError if all rows are of one class; SettingError at level perturbed if sites hold different columns.
        """
        settings, phase = self.settings, federation.costs.phase
        logger.warning(
            "random-kernel discloses numbers of every row: docs/rivals.md says who can reconstruct rows"
        )
        with phase("join"):
            schema = join(federation, settings, by_columns=True)
            check_classes(settings.strategy, schema.classes)
            layout = layout_of({name: site.columns for name, site in federation.sites.items()}, schema)
            if layout.blocks.any() and settings.level == "perturbed":
                raise SettingError(
                    "The sites hold different columns of the same rows. At level perturbed each site would perturb a "
                    "row's label differently. Set privacy=exact, if the hospitals agree to that level; or give each "
                    "site rows with all columns."
                )
            federation.broadcast(LAYOUT, layout)
        with phase("random matrix"):
            size = rows_of_matrix(settings.random_kernel_rows, count_rows(federation, layout), layout)
        with phase("scaling"):
            scaling = learn_ranges(federation, layout)
            broadcast_scalings(federation, [scaling])
        nu, (mu,) = settings.C_random_kernel, settings.gamma_values(scale_of(len(schema.columns)))
        question = KernelQuestion(settings.kernel, mu, size)
        with phase("kernel rows"):
            train = gather_kernel(federation, layout, question)
        if len(set(train.classes.tolist())) < 2:
            raise TableError("The sites' training rows are all of one class. Lower test-fraction.")
        with phase("linear program"):
            u, threshold = one_norm_svm(train.K, np.where(train.classes == 1, 1.0, -1.0), nu)
        if not u.any():
            logger.warning(
                "all weights are 0, so every row gets the same class: C-random-kernel=%g is too small", nu
            )
        kernel = Kernel(settings.kernel, mu)  # type: ignore[arg-type]
        parts = RandomKernelParts(scaling, kernel, u, threshold, layout.columns, train.digests)
        model = RandomKernelSVC.from_parts(schema, parts)
        with phase("evaluation"):
            test = gather_kernel(federation, layout, question, KERNEL_POINTS)
            evaluation = evaluated(model.of_kernel(test.K), test.classes)
        return Outcome(model, evaluation, _figures(train, model))


def evaluated(decisions: Floats, classes: Ints) -> Evaluation:
    """Return the evaluation of the test rows' decision values."""
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
