"""Attacks of a malicious coordinator, which chooses everything that it sends, on hospitals in this process.

``attacks.toml`` lists them. Each attacks one promise of the pages, and tells its result, the result that the promise
allows, and whether the promise held.
"""
