"""What a site computes on its own rows, one file a phase: the same words as in `flower_pansvm/tasks`."""
