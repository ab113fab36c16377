"""A hospital's SuperNode: its connection to the coordinator's SuperLink, and what answers messages."""
