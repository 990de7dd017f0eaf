// CloudStorageTests
