"""The report of a run: one HTML page, made of sections from ``result.json`` alone."""
