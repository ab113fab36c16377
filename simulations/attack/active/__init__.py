"""Attacks of a malicious coordinator, which chooses everything that it sends, on hospitals in this process.

One file an attack, listed in `registry.ATTACKS`. Each attacks one promise of the pages, and states its method, its
result, the result that the promise allows, and whether the promise held.
"""
