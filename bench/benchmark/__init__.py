"""Measurements of SyncServer next to baselines, what bench/run is made of."""
