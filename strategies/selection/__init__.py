"""Feature selection: by votes, by filters and wrapper, and one by one (Lu 2016, chapters 5 and 6)."""
