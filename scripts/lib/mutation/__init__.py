"""Injected faults: how they are described, switched and tested. See docs/adr/0036-injected-faults.md."""
