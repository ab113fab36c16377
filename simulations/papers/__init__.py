"""Published tables and figures run again, ours beside theirs: one file each, entered by name."""
