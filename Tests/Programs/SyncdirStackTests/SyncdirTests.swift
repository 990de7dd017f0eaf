import Testing

/// Tests that start many processes each; one at a time they leave room for those of other suites.
@Suite("syncdir on a running stack", .serialized)
struct SyncdirTests {}
