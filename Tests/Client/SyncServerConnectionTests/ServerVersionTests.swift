import SyncProtocol
import SyncServerConnection
import Testing

@Suite("Versions of servers and apps")
struct ServerVersionTests {
    @Test(
        "A version is exactly three integers separated by dots",
        arguments: ["", "1", "1.2", "1.2.3.4", "1.2.x", "1..3", "-1.2.3", "+1.2.3", " 1.2.3", "1.2.3-beta", "1.2.٣"])
    func malformed(text: String) {
        #expect(ServerVersion(rawValue: text) == nil)
    }

    @Test("A version is written as it is read")
    func roundTrip() throws {
        let version = try #require(ServerVersion(rawValue: "0.25.1"))
        #expect(version == ServerVersion(0, 25, 1))
        #expect(version.rawValue == "0.25.1")
    }

    @Test("The major version is compared before the minor, the minor before the patch; equal is not less")
    func order() {
        let ascending = [
            ServerVersion(0, 9, 9), ServerVersion(0, 10, 0), ServerVersion(0, 10, 1), ServerVersion(1, 0, 0),
            ServerVersion(1, 0, 12),
        ]
        for (index, version) in ascending.enumerated() {
            for later in ascending[(index + 1)...] {
                #expect(version < later)
                #expect(!(later < version))
            }
            #expect(!(version < version))
        }
    }
}
