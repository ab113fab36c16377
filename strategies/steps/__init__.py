"""What the coordinator makes of each phase: one file a phase, the words of `flower_pansvm.tasks`."""
