"""What cannot be of opened sums, one file a phase."""
