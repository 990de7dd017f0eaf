import Foundation
import Posix
import TestSupport
import Testing

extension PrivateStackTests {
    /// Runs on a stack whose processes send two signs of life per second, so that a request counts as stuck after two
    /// seconds.
    @Suite("The service manager's watchdog")
    struct WatchdogTests {
        private static let result = Result {
            try TestServer(PrivateStack("watchdog", responders: 1, environment: ["WATCHDOG_USEC": "400000"]))
        }
        private let server: TestServer

        init() throws { server = try Self.result.get() }

        /// The number of signs of life that a role's processes have sent so far.
        private func signs(of role: String) throws -> Int {
            let file = URL(filePath: try server.environment.value("STACK_DIR"))
                .appending(path: "run/syncd-\(role).pids.signs")
            return try Data(contentsOf: file).count { $0 == UInt8(ascii: "\n") }
        }

        @Test("A process with a stuck thread sends no watchdog notification until the thread continues")
        func stuckThread() async throws {
            try await eventually("the process sends signs of life") { try signs(of: "jobs") > 2 }
            let input = Pipe()
            let holder = try ChildProcess(
                [
                    "/usr/bin/mariadb", "--no-defaults", "--socket=\(server.environment.value("DB_SOCKET"))",
                    server.environment.value("DB_NAME"),
                ], input: input.fileHandleForReading.fileDescriptor)
            // The jobs threads continuously query this table; the main thread does not use it.
            try input.fileHandleForWriting.write(contentsOf: Data("LOCK TABLES outbox WRITE;\n".utf8))

            var (known, since) = (try signs(of: "jobs"), ContinuousClock.now)
            try await eventually("the signs of life stop", within: .seconds(18)) {
                let now = try signs(of: "jobs")
                if now != known { (known, since) = (now, .now) }
                return since.duration(to: .now) > .seconds(3)
            }
            #expect(try signs(of: "api") > 0)
            try input.fileHandleForWriting.close()
            _ = try holder.wait()

            try await eventually("the signs of life continue") { try signs(of: "jobs") > known + 2 }
        }

        @Test("A thread that waits for a slow phone is not stuck")
        func slowPhone() async throws {
            let alice = try server.signUpOwningUser()
            let file = TestFile(randomBytes: 100_000)
            let upload = try alice.beginUpload(file, sending: 50_000)
            try await eventually("the upload is in progress") {
                try !server.askDatabase("SELECT 1 FROM outbox WHERE user_id = \(alice.userID)").isEmpty
            }
            let before = try signs(of: "transfer")

            // The signs of five seconds.
            try await eventually("the process continues to send signs of life", within: .seconds(60)) {
                try signs(of: "transfer") > before + 10
            }

            upload.hangUp()
        }
    }
}
