"""The parts of scripts/demonstrate: people with phones, a photograph, and the sandbox behind the clouds."""
