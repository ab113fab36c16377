"""What all systems share: joining."""

from simulations.systems.system import SYSTEMS, SystemWords


@SYSTEMS.register("common")
class CommonWords(SystemWords):
    """Names and keys are about no row."""

    words = {  # noqa: RUF012
        "join": (
            "Name, version and public keys of the site, names of its columns and of its classes",
            "to agree on common columns and classes, and to mask what follows",
        ),
    }
    examined = ("join",)
