// ServerConfiguration
