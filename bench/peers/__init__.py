"""Other servers for the same purpose, which run alongside ours in the same stack."""
