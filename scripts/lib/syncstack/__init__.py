"""A private SyncServer with everything it needs, in one directory: the parts of scripts/stack."""
