"""Published tables and figures run again, ours beside theirs: one file a chapter or paper, tables as data."""
