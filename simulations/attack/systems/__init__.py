"""What the audit counts in the answers of a system: one file a system, of the name that it has in all rooms."""
