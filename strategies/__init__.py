"""What the coordinator runs: one privacy-preserving system per file, started as Flower starts its strategies."""
