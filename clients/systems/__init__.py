"""What a site computes for each system."""
