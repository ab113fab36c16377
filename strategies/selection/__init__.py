"""Feature selection: criteria from summed statistics, votes, and what a selection has found."""
