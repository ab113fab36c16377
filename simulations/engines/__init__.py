"""The engines of a run: Flower's simulation engine, or this process."""
