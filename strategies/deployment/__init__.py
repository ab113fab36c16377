"""The coordinator's part of a study: its folder, the SuperLink, training."""
