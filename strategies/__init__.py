"""What the coordinator runs: one privacy-preserving system per file, as a Flower Strategy."""
