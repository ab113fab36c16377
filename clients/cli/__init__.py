"""The hospital's commands."""
