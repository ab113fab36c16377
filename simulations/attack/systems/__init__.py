"""The audit's figures of each system: one file a system, named as in all packages."""
