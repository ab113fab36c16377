"""What the secure sums cost, measured: figures for the documentation, never a test that passes or fails."""
