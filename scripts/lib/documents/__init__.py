"""The commands that the documents tell their readers to type: in separate displays, and within sentences."""
