import TestSupport
import Testing

extension PrivateStackTests {
    /// On a stack where nobody counts the requests that break a provider's rules, as those with a wrong secret do.
    @Suite("Registration of the server with the providers")
    struct RegistrationTests {
        let server: TestServer
        private let folder: ScratchFolder

        init() throws {
            server = try TestServer.ofStrangers()
            folder = try ScratchFolder("registration")
        }

        @Test(
            "doctor asks each provider whether it knows the server, and names the keys of the one that does not",
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
