"""Mangasarian & Wild (2008), Privacy-preserving random kernel classification of checkerboard partitioned data."""
