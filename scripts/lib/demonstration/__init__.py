"""What scripts/demonstrate is made of: people with phones, a photograph, and the sandbox behind the clouds."""
