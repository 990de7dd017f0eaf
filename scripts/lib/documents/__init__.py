"""The commands in the documents, both those in separate displays and those within sentences."""
