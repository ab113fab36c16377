"""What the audit and the report say of each system: one file a system, of the name that it has in all rooms."""
