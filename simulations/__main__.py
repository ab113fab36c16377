"""Makes ``python -m simulations`` the same as ``pansvm``."""

from simulations.cli import main

main()
