"""Consensus SVM by ADMM: each sum of models is a sum over rows; ``--audit=attack`` solves their differences."""

from simulations.systems.system import SYSTEMS, SystemWords


@SYSTEMS.register("svm-admm")
class AdmmWords(SystemWords):
    """No figure short of the attack tells how many rows the models give away."""

    words = {  # noqa: RUF012
        "consensus": (
            "The site’s own weights of the model, step by step",
            "to draw the sites’ models together",
        ),
    }
    examined = ()
