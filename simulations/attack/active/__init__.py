"""An active coordinator: it chooses everything that it sends, and plays its attacks against hospitals in this process.

One file an attack, which enters itself in `registry.ATTACKS`. An attack attacks one promise of the pages, and says what
it tries, what it got, what the promise allows, and whether the promise held.
"""
