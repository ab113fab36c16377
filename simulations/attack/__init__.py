"""An attacker: what a coordinator that only looks at what it receives can find out about the rows of the federation."""
