"""The parts of scripts/test: steps with logs, tests in separate processes, and one account of the results."""
