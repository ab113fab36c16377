"""Attackers: what a coordinator that only looks, or one that asks what it likes, can find out about the rows."""
