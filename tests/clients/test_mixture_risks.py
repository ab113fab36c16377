"""What sharing components risks and gains: known cases, directions, and the choice within a bound."""

import numpy as np
import pytest

from clients.systems.mixture import Preference, Tradeoff, class_models, tradeoff, tradeoff_of
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.systems.mixture.mixture import LARGEST, Mixture

EVEN = (0.25,) * 4
CENTRES = ((0, 0), (7, 0), (0, 7), (7, 7))


def clouds(seed: int = 0) -> tuple[Floats, Ints]:
    """Return a class of four clouds of different size, and another of one."""
    generator = np.random.default_rng(seed)
    own = [generator.normal(centre, 0.7, (60 + 20 * i, 2)) for i, centre in enumerate(CENTRES)]
    X = np.vstack([*own, generator.normal((3.5, 3.5), 0.7, (100, 2))])
    return X, np.repeat([0, 1], [len(X) - 100, 100])


def risks(least: int = 5) -> Tradeoff:
    X, classes = clouds()
    models = class_models(X, classes, False, least, 0)
    found = tradeoff_of(models, 0, X, classes, least, 0)
    assert found is not None
    return found


def flat(**values: list[float]) -> Tradeoff:
    """Return three numbers of components, all harmless and useless but for what is given."""
    nothing = {name: [0.0] * 3 for name in ("identification", "linkage", "interval", "inference")}
    parts = {**nothing, "loss": [LARGEST] * 3, "benefit": [0.0] * 3, **values}
    return Tradeoff(**{name: np.array(part) for name, part in parts.items()}, pairs=100)


@pytest.mark.slow
def test_every_risk_utility_and_benefit_rises_with_what_is_shared() -> None:
    found = risks()
    assert len(found.loss) == 4
    for numbers in (*found.normalised(), found.total(EVEN), found.utility()):
        assert numbers[-1] > numbers[0]
        assert (numbers >= 0).all()
        assert (numbers <= 1).all()
    assert found.benefit[-1] == 1 > found.benefit[0]
    assert found.loss[-1] == pytest.approx(0, abs=1e-9)
    assert found.linkage[-1] == 1000
    # Without a bound all is shared, and with a small one less.
    bounds = (1.0, found.total(Preference().risk_weights)[1], 0.0)
    most, fewer, none = (found.best(Preference(risk_bound=bound)) for bound in bounds)
    assert (most, none) == (4, 0)
    assert 1 <= fewer < 4


def test_normalised_risks_are_those_of_the_formulas() -> None:
    found = flat(identification=[0.05, 0.1, 1.0], interval=[0.0, 1.0, 3.0], loss=[LARGEST, LARGEST / 2, 0])
    np.testing.assert_allclose(
        found.normalised(), [[0.5, 1, 1], [0, 0.5, 1], [0, 0.5, 0.75], [0, 0, 0]], atol=1e-12
    )
    np.testing.assert_allclose(found.total((0.4, 0.2, 0.2, 0.2)), [0.2, 0.6, 0.75])


def test_lambda_weighs_utility_against_benefit() -> None:
    found = flat(loss=[LARGEST / 2, 0, LARGEST], benefit=[0.2, 0.0, 1.0])
    assert [found.best(Preference(1.0, share)) for share in (1.0, 0.1)] == [2, 3]


def test_a_component_of_few_rows_is_not_among_them() -> None:
    model = Mixture(np.array([0.97, 0.03]), np.array([[0.0, 0], [9, 9]]), np.tile(np.eye(2), (2, 1, 1)))
    X = np.vstack([np.random.default_rng(0).normal(size=(97, 2)), np.full((3, 2), 9.0)])
    classes = np.zeros(100, dtype=np.int64)
    counts = []
    for least in (3, 5, 98):
        found = tradeoff_of({0: model}, 0, X, classes, least, 0)
        counts.append(0 if found is None else len(found.loss))
    assert counts == [2, 1, 0]


def test_a_component_of_one_patients_rows_is_not_among_them_however_many_they_are() -> None:
    X, classes = clouds()
    alone = np.linalg.norm(X - CENTRES[3], axis=1) < 3  # the largest cloud
    patients = np.where(alone, 0, np.arange(len(X)))
    models = class_models(X, classes, False, 5, 0, patients)
    found = tradeoff_of(models, 0, X, classes, 5, 0, patients)
    assert found is not None
    assert len(found.loss) == 3
    shared = models[0].only(np.arange(3)).means
    assert np.linalg.norm(shared - CENTRES[3], axis=1).min() > 6
    # So few patients stand behind a class that nothing of it may leave.
    assert tradeoff_of(models, 0, X, classes, 5, 0, classes) is None


def test_rows_that_are_drawn_exactly_are_the_highest_risk() -> None:
    """Synthetic rows on top of the real ones: all are re-identified, and all cells are within the floor."""
    X = np.random.default_rng(0).normal(size=(4, 2)) * 50
    narrow = Mixture(np.full(4, 0.25), X, np.full((4, 2), 1e-12))
    found = tradeoff(narrow, X, np.ones(4), [0], draws=200)
    assert found.identification[-1] * 4 * 200 == 4
    assert found.interval[-1] == pytest.approx(1.0)
    assert found.interval[0] < 0.5


@pytest.mark.slow
def test_more_draws_identify_a_smaller_share_of_pairs_and_tell_more_of_cells() -> None:
    """Figure 12."""
    X, classes = clouds()
    model = class_models(X, classes, False, 5, 0)[0]
    few, many = (tradeoff(model, X[classes == 0], np.ones(1), [0], draws) for draws in (20, 2000))
    assert few.identification[0] > many.identification[0]
    assert few.interval[0] < many.interval[0]


def test_classes_that_are_too_small_or_all_the_same_have_no_model() -> None:
    X, classes = clouds()
    few = np.vstack([X, np.full((20, 2), 3.0), X[:3]])
    numbers = np.concatenate([classes, np.full(20, 2), np.full(3, 3)])
    assert set(class_models(few, numbers, False, 5, 0)) == {0, 1}
