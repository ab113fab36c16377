"""What a hospital's table is like: whether it fits a run (``pansvm check``), and a first schema file of it."""
