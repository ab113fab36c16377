"""Joining a study: what hospitals and coordinator write down, hand to each other, check and start.

None of it is loaded by a SuperNode, and none of it sends a row: rows are read by the hospital's own part, ``clients/``.
"""
