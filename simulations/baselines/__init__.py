"""What strategies are compared with: classifiers trained on all rows in one place. One file each, entered by name."""
