import TestSupport
import Testing

extension PrivateStackTests {
    /// Runs on a stack whose tests do not count requests that break a provider's rules, such as those with a wrong
    /// secret.
    @Suite("Registration of the server with the providers")
    struct RegistrationTests {
        let server: TestServer
        private let folder: ScratchFolder

        init() throws {
            server = try TestServer.ofStrangers()
            folder = try ScratchFolder("registration")
        }

        @Test(
            "doctor checks the server's registration with each provider, and names the settings of the one that fails",
            arguments: [
                ("Google", ["GoogleServerClientSecret"]), ("Dropbox", ["DropboxAppSecret"]),
                ("Microsoft", ["MicrosoftClientSecret"]), ("Facebook", ["FacebookClientSecret"]),
                ("Apple", ["appleSignIn", "keyId"]),
            ])
        func registrations(company: String, key: [String]) throws {
            let path = try server.changedConfiguration(in: folder) { settings in
                if key.count == 2, var section = settings[key[0]] as? [String: Any] {
                    section[key[1]] = "WRONG12345"
                    settings[key[0]] = section
                } else {
                    settings[key[0] + "File"] = nil
                    settings[key[0]] = "wrong"
                }
            }
            let names = ["Google", "Dropbox", "Microsoft", "Facebook", "Apple"]

            let lines = try OperatorTool(server).runPlain("doctor", "--config", path).output.split(separator: "\n")

            let known = lines.filter { $0.hasSuffix(" accepts this server's registration") }.compactMap {
                $0.split(separator: " ").dropFirst().first
            }
            #expect(known.map(String.init) == names.filter { $0 != company }, "\(lines.joined(separator: "\n"))")
            let refusal = try #require(
                lines.firstIndex { $0.hasPrefix("BAD     \(company) rejects this server's registration (") })
            #expect(lines[refusal + 2].contains(key.joined(separator: ".")))
            #expect(!lines.contains { $0.contains("wrong") || $0.contains("WRONG12345") })
        }
    }
}
