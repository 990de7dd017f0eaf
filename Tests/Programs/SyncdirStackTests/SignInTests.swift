import Foundation
import Glibc
import TestSupport
import Testing

extension SyncdirTests {
    @Suite("syncdir with an account of a provider", .enabled(if: geteuid() == 0, "mounts need root"))
    struct SignInTests {
        @Test(
            "A browser signs in; expired tokens of program and server are refreshed; a sign-out removes everything",
            arguments: [SandboxProvider.google, .dropbox, .microsoft])
        func wholeWay(provider: SandboxProvider) throws {
            let server = try TestServer.shared()
            let account = try server.newcomer(provider, name: "Dana Desktop").account
            let (dana, bob) = (try TerminalUser(account, server), try TerminalUser("Bob", server))

            let signIn = try dana.succeed("sign-in", "--server", dana.address, "--\(provider.rawValue)")
            #expect(signIn.contains("Signed in as Dana Desktop. The server does not know you yet"))
            #expect(dana.credentialsMode == 0o600)
            let group = try dana.succeed("create-group", "Desktop")
            try dana.write("a.txt", "one")
            try dana.succeed("sync", dana.directory.path, "--group", group)

            try server.sandbox.expireAccessTokens(of: account, .program)
            try dana.write("a.txt", "two")
            try dana.succeed("sync", dana.directory.path)
            try server.sandbox.expireAccessTokens(of: account, .server)
            #expect(try bob.succeed("join", try dana.succeed("invite", group)) == group)
            try bob.succeed("sync", bob.directory.path, "--group", group)
            #expect(try bob.files() == ["a.txt": "two"])

            let again = try dana.succeed("sign-in", "--server", dana.address, "--\(provider.rawValue)")
            #expect(again.contains("Signed in as Dana Desktop.") && !again.contains("does not know you"))
            try dana.succeed("sign-out")
            #expect(dana.credentialsMode == nil)
            #expect(try dana.run("groups").status == 77)
        }
    }
}
