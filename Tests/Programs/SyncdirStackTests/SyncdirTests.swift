import TestSupport
import Testing

/// Each of these tests starts many processes; run serially, they leave room for other suites.
@Suite("syncdir on a running stack", .serialized)
struct SyncdirTests {
    private static let own = Result { try TestServer(PrivateStack("directories", responders: 1)) }

    /// A stack whose providers these tests make fail, and whose database they restore.
    static func ownServer() throws -> TestServer { try own.get() }
}
