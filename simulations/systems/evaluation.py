"""The test of a model on true records: what its counts tell of a record is bounded by a proof."""

from simulations.systems.system import SYSTEMS, SystemWords


@SYSTEMS.register("evaluation")
class EvaluationWords(SystemWords):
    """Differentially private counts of test records, of models that were trained on copies."""

    words = {  # noqa: RUF012
        "model_test": (
            "Test patients by class, and by whether the model is right",
            "to say how good the model is for true records",
        ),
    }
    examined = ("model_test",)
