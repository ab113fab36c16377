"""What both sides of a system share: one file, or folder, a system; a name is the same in all rooms."""
