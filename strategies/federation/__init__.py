"""The sites as a strategy sees them: what is sent, checked, written down and counted."""
