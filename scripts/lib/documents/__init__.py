"""What the documents tell their readers to type: in displays of their own, and within sentences."""
