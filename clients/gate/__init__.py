"""The layer between a request and the rows: policy, refusals, and the encoding of answers."""
