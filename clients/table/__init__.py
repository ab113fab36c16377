"""A site's table: where it comes from, and how it is read, checked and kept."""
