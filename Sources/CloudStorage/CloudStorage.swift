// CloudStorage
