"""What a hospital keeps of its table from run to run: its ledger, and what follows from its lasting key."""
