"""Fault matrix: for every provider and operation, the Nth call to the provider fails in every way of a catalogue."""
