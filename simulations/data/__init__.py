"""What simulated sites hold: data sets, and how their rows are dealt out."""
