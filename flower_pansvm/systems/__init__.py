"""The shared part of each system: one file, or folder, a system, named as in the other packages."""
