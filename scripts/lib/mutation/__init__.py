"""Injected faults: how they are described, switched and tried. See docs/adr/0036-injected-faults.md."""
