"""What a researcher runs: data sets, partitions, the in-process grid, the command line, plots."""
