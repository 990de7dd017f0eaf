"""The parts of scripts/check-extending: what docs/extending.md says to do, and the compiler."""
