import ArgumentParser
import Foundation
import SyncAccounts
import SyncClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `syncdir sign-in`.
struct SignIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in", abstract: "Signs in with a browser, or as a person in the sandbox.",
        discussion: "Prints the address of the provider's page, and opens it if a browser is available.")

    enum Provider: String, EnumerableFlag {
        case google, dropbox, microsoft, nextcloud
    }

    @OptionGroup var options: CommonOptions

    @Option(help: ArgumentHelp("The server's address; by default the one in config.json.", valueName: "url"))
    var server: String?

    @Flag(help: "The kind of account.")
    var provider: Provider?

    @Flag(help: "Print the address without opening it.")
    var noBrowser = false

    @Option(help: ArgumentHelp("For development: the address of the sandbox's control interface.", valueName: "url"))
    var sandbox: String?

    @Option(help: ArgumentHelp("An existing account in the sandbox.", valueName: "id"))
    var sandboxAccount: String?

    @Option(help: ArgumentHelp("Create a Google account for this person in the sandbox.", valueName: "name"))
    var sandboxPerson: String?

    func validate() throws {
        if sandbox != nil {
            guard (sandboxAccount == nil) != (sandboxPerson == nil), provider == nil else {
                throw ValidationError("--sandbox requires either --sandbox-account or --sandbox-person.")
            }
        } else if provider == nil {
            throw ValidationError("Specify the kind of account: --google, --dropbox, --microsoft or --nextcloud.")
        }
    }

    func run() async throws {
        let folders = try Folders()
        let configuration = try Configuration(folders)
        guard let server = server ?? configuration.server else {
            throw Failure(.configuration, "specify the server with --server, or in config.json")
        }
        guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host()?.isEmpty == false else {
            throw Failure(
                self.server == nil ? .configuration : .commandLine,
                "\(Output.printable(server)) is not the address of a server; it needs a scheme and a host, such as "
                    + "https://sync.example.com")
        }
        let files = AccountFiles(folders, options.account)
        let former = files.contents
        let account: Account
        let known: SyncServer.CheckForExistingUserResult
        do {
            account = try await self.account(server, configuration, files)
            try files.save(account)
            known = try await Session(options).withServer { try await $0.checkForExistingUser() }
        } catch {
            // The previous person stays signed in.
            try? files.restore(former)
            throw error
        }
        struct Result: Encodable {
            var person: String
            var isKnown: Bool
        }
        let isKnown = known != .noUser
        Output.write(
            Result(person: account.person, isKnown: isKnown),
            "Signed in as \(Output.printable(account.person))."
                + (isKnown
                    ? ""
                    : " The server does not know you yet: use syncdir create-group or syncdir join.\n"
                        + "If this account replaces a former one of yours: syncdir switch-account."),
            asJSON: options.json)
    }

    private func account(
        _ server: String, _ configuration: Configuration, _ files: AccountFiles
    ) async throws -> Account {
        if let sandbox { return try await sandboxAccount(server, sandbox) }
        guard let provider, let kind = Account.Kind(rawValue: provider.rawValue),
            let scheme = try Session.scheme(kind, configuration)
        else { throw Failure(.configuration, "no such provider") }
        let opensBrowser = !noBrowser
        let signIn = BrowserSignIn(scheme, appName: "syncdir") { url in
            Output.note("Open this page to sign in:\n\(url.absoluteString)")
            if opensBrowser { Browser.open(url) }
        }
        let credentials = try await signIn.signIn()
        let session = try AccountSession(scheme, store: FileCredentialStore(file: files.credentials))
        try await session.signIn(credentials)
        let person = credentials.person
        return Account(
            server: server, kind: kind, person: person.name.isEmpty ? person.email ?? person.id : person.name)
    }

    private struct SandboxPerson: Codable {
        var id: String
        var name: String
    }

    private func sandboxAccount(_ server: String, _ sandbox: String) async throws -> Account {
        guard let control = URL(string: sandbox), control.host() != nil else {
            throw Failure(.configuration, "the sandbox's address is invalid: \(sandbox)")
        }
        var request = URLRequest(url: control.appending(path: "sandbox/accounts"))
        if let sandboxAccount {
            request.url?.append(path: sandboxAccount)
        } else {
            request.httpMethod = "POST"
            request.httpBody = try JSONEncoder().encode(["provider": "google", "name": sandboxPerson ?? ""])
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let reply: ProviderTransport.Reply
        do { reply = try await ProviderTransport.system().send(request) } catch {
            throw Failure(.unavailable, "the sandbox is not answering")
        }
        guard [200, 201].contains(reply.status),
            let person = try? JSONDecoder().decode(SandboxPerson.self, from: reply.body)
        else { throw Failure(.failed, "the sandbox refused the request: status \(reply.status)") }
        return Account(
            server: server, kind: .sandbox, person: person.name, sandbox: sandbox, sandboxAccount: person.id)
    }
}

/// `syncdir sign-out`.
struct SignOut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out", abstract: "Removes the account's credentials; directories are unchanged.")

    @OptionGroup var options: CommonOptions

    func run() async throws {
        try AccountFiles(try Folders(), options.account).remove()
        Output.write(["signedOut": true], "Signed out.", asJSON: options.json)
    }
}

/// The system's browser.
enum Browser {
    /// Asks the system to open a page; does nothing without a browser, since the address is printed as well.
    static func open(_ url: URL) {
        #if os(macOS)
            let program = "/usr/bin/open"
        #else
            guard let program = find("xdg-open") else { return }
        #endif
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = [url.absoluteString]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try? process.run()
    }

    #if !os(macOS)
        private static func find(_ name: String) -> String? {
            let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        }
    #endif
}
