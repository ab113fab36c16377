"""The version of this project, which a site tells when it joins."""

VERSION = "0.1.0"  # that of ``pyproject.toml``; a Flower bundle comes to a hospital without it
