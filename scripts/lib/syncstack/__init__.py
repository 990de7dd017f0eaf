"""A private SyncServer with everything it needs, under one directory: what scripts/stack is made of."""
