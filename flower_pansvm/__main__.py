"""``python -m flower_pansvm``, which is the command ``pansvm``."""

from flower_pansvm.cli import main

if __name__ == "__main__":
    main()
