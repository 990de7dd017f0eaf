import Foundation
import TestSupport
import Testing

@Suite("The server obeys the providers' rules")
struct SandboxRulesTests {
    @Test("The complete life cycle of a file violates no rule of the providers")
    func noViolations() throws {
        let server = try TestServer.shared()
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.write)
        var file = TestFile(randomBytes: 900_000)
        file.mimeType = "text/plain"
        try alice.publish(file, masterVersion: 1)
        file = file.next("next")
        try bob.publish(file, masterVersion: 2)
        try server.sandbox.expireAccessTokens(of: alice.account, .server)
        expectDownload(try bob.download(file, masterVersion: 3), of: file)
        expectError(try bob.upload(TestFile(), masterVersion: 3, overriding: ["checkSum": file.checkSum]), 422)

        let violations = try server.sandbox.violations()
        #expect(violations.isEmpty, "\(violations)")
    }
}
