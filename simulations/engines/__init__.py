"""Where a run takes place: on Flower's simulation engine, or in this process."""
