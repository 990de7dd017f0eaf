"""Other servers for the same purpose, which run beside ours in the same stack."""
