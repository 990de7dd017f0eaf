"""What scripts/test consists of: steps with logs, tests in processes of their own, and one account of it all."""
