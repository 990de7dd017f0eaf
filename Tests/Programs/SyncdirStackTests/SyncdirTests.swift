import TestSupport
import Testing

/// Tests that start many processes each; one at a time they leave room for those of other suites.
@Suite("syncdir on a running stack", .serialized)
struct SyncdirTests {
    private static let own = Result { try TestServer(PrivateStack("directories", responders: 1)) }

    /// A stack whose providers these tests make fail, and whose database they put back.
    static func ownServer() throws -> TestServer { try own.get() }
}
