"""The parts of bench/run: measurements of SyncServer next to baselines."""
