import Foundation
import TestSupport
import Testing

extension PrivateStackTests {
    /// On the stack whose processes may be killed.
    @Suite("syncctl doctor during an outage")
    struct OutageTests {
        @Test("Without the database, doctor names it first, and the responders that need it")
        func database() async throws {
            let server = try TestServer.toBreak()
            let host = try ExaminedHost(server)
            host.arguments = ["--ignore", "sandboxInUse", "--ca-file", host.place("authorities.pem").path]
            try await host.startNginx()
            for process in try server.processes("mariadb") { process.send(SIGKILL) }
            defer { try? server.stack?.restore() }

            try await eventually("the responders have noticed it") {
                let report = try host.doctor()
                return report.findings == ["databaseUnavailable", "responderUnhealthy", "frontDoorUnhealthy"]
            }
        }
    }
}
