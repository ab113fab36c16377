"""The console script ``pansvm``, which is ``python -m simulations`` as well."""

import sys

EXTRAS = {
    "jinja2": "report",
    "joblib": "simulation",
    "matplotlib": "report",
    "onnx": "export",
    "onnxruntime": "export",
    "rich": "simulation",
    "tomli_w": "simulation",
    "typer": "simulation",
}
"""Which extra of this project brings a package that a hospital does without."""


def main() -> None:
    """Run the command line; without a package that a command needs, say which extra brings it."""
    try:
        from simulations import cli  # noqa: PLC0415

        cli.main()
    except ModuleNotFoundError as error:
        package = str(error.name).split(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        # That extra has the packages of all commands but this one.
        rest = (
            ""
            if extra == "export"
            else ", or what most commands need: pip install 'flower-pansvm[simulation]'"
        )
        sys.exit(
            f"Error: This needs the package {package}, which is not installed. Install it with: "
            f"pip install 'flower-pansvm[{extra}]'{rest}"
        )


if __name__ == "__main__":
    main()
