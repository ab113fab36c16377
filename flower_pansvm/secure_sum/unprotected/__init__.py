"""What hides nothing, kept apart from the protocols that do: for baselines and for finding errors."""
