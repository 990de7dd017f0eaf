"""Fault matrix: for every provider and operation, the Nth call to the provider fails in each way of a catalogue."""
