"""A hospital's part of a study: its folder, the checks before it connects, its SuperNode."""
