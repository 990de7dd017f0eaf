import Foundation
import SyncAccounts
import SyncClient
import SyncErrorSentences

/// An account that is signed in under a name.
struct Account: Codable {
    /// How the person signed in.
    enum Kind: String, Codable {
        case google, dropbox, microsoft, nextcloud, sandbox
    }

    var server: String
    var kind: Kind
    /// For display.
    var person: String
    /// The sandbox's control interface, and the account's name there.
    var sandbox: String?
    var sandboxAccount: String?
}

/// The files of an account, by its name.
struct AccountFiles {
    let folder: URL
    private var file: URL { folder.appending(path: "account.json") }
    var credentials: URL { folder.appending(path: "credentials.json") }
    /// The library's store for operations not tied to a directory.
    var store: URL { folder.appending(path: "store") }

    init(_ folders: Folders, _ name: String) {
        folder = folders.state.appending(path: "accounts/\(name)", directoryHint: .isDirectory)
    }

    /// - Throws: ``Failure`` if nobody is signed in.
    func load() throws -> Account {
        guard let bytes = try? Data(contentsOf: file) else {
            throw Failure(.noPermission, "nobody is signed in; use syncdir sign-in")
        }
        do { return try JSONDecoder().decode(Account.self, from: bytes) } catch {
            throw Failure(.configuration, "\(file.path) was changed, and cannot be read; use syncdir sign-in")
        }
    }

    func save(_ account: Account) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try JSONEncoder().encode(account).write(to: file, options: .atomic)
    }

    /// The contents of the files; nil for a file that does not exist.
    var contents: [URL: Data?] {
        Dictionary(uniqueKeysWithValues: [file, credentials].map { ($0, try? Data(contentsOf: $0)) })
    }

    /// Restores the contents of the files.
    func restore(_ contents: [URL: Data?]) throws {
        for (file, bytes) in contents {
            if let bytes {
                // Written in place, so that the file keeps its permissions.
                let handle = try FileHandle(forWritingTo: file)
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: bytes)
                try handle.close()
            } else if FileManager.default.fileExists(atPath: file.path) {
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    func remove() throws {
        for file in [file, credentials] where FileManager.default.fileExists(atPath: file.path) {
            try FileManager.default.removeItem(at: file)
        }
    }
}

/// The signed-in account, and the client of its server.
struct Session {
    let account: Account
    let files: AccountFiles
    let configuration: Configuration
    private let credentials: any CredentialProvider

    /// - Throws: ``Failure`` if nobody is signed in.
    init(_ options: CommonOptions) throws {
        let folders = try Folders()
        configuration = try Configuration(folders)
        files = AccountFiles(folders, options.account)
        account = try files.load()
        credentials = try Self.credentials(account, files, configuration)
    }

    private static func credentials(
        _ account: Account, _ files: AccountFiles, _ configuration: Configuration
    ) throws -> any CredentialProvider {
        if let scheme = try scheme(account.kind, configuration) {
            return try AccountSession(scheme, store: FileCredentialStore(file: files.credentials))
        }
        guard let sandbox = account.sandbox.flatMap({ URL(string: $0) }), let id = account.sandboxAccount else {
            throw Failure(.configuration, "the sandbox's account is incomplete; use syncdir sign-in")
        }
        return SandboxSignIn(sandbox: sandbox, accountID: id)
    }

    /// Fresh credentials of another account that is signed in on this computer, for a single request.
    /// - Throws: ``Failure`` if nobody is signed in under that name.
    func freshCredentials(ofAccount name: String) async throws -> Credentials {
        let files = AccountFiles(try Folders(), name)
        let provider = try Self.credentials(try files.load(), files, configuration)
        guard let known = await provider.credentials() else {
            throw Failure(.noPermission, "nobody is signed in as \(name); use syncdir sign-in --account \(name)")
        }
        do { return try await provider.refresh(known) } catch {
            // The server may still accept them: some providers issue no means to renew credentials.
            return known
        }
    }

    /// The account's sign-in scheme; nil for the sandbox.
    static func scheme(_ kind: Account.Kind, _ configuration: Configuration) throws -> AccountScheme? {
        func missing(_ name: String) -> Failure {
            Failure(.configuration, "config.json has no client for \(name); see docs/syncdir.md")
        }
        switch kind {
        case .sandbox: return nil
        case .google:
            guard let client = configuration.google else { throw missing("google") }
            return .google(
                clientID: client.clientID, clientSecret: client.clientSecret, serverClientID: client.serverClientID,
                ports: client.ports ?? [])
        case .dropbox:
            guard let client = configuration.dropbox else { throw missing("dropbox") }
            return .dropbox(appKey: client.appKey, ports: client.ports)
        case .microsoft:
            guard let client = configuration.microsoft else { throw missing("microsoft") }
            return .microsoft(clientID: client.clientID)
        case .nextcloud:
            guard let client = configuration.nextcloud else { throw missing("nextcloud") }
            guard let site = URL(string: client.address), site.scheme == "https", site.host() != nil else {
                throw Failure(.configuration, "the Nextcloud address in config.json is invalid: \(client.address)")
            }
            return .nextcloud(
                at: site, clientID: client.clientID, clientSecret: client.clientSecret,
                serverClientID: client.serverClientID, ports: client.ports ?? [])
        }
    }

    /// The client library with its store in `storeFolder`.
    func server(storeFolder: URL, maximumTransfers: Int = 1) throws -> SyncServer {
        guard let url = URL(string: account.server) else {
            throw Failure(.configuration, "the server's address is invalid: \(account.server)")
        }
        var settings = SyncServer.Configuration(
            serverURL: url, storeFolder: storeFolder, cloudFolderName: configuration.cloudFolderName ?? "SyncServer")
        // The commands sync explicitly.
        settings.syncsPendingUploadsAtLaunch = false
        settings.maximumTransfers = maximumTransfers
        return try SyncServer(configuration: settings, credentialProvider: credentials)
    }

    /// The client library for operations not tied to a directory, while `body` runs.
    func withServer<Value>(_ body: (SyncServer) async throws -> Value) async throws -> Value {
        let server = try server(storeFolder: files.store)
        do {
            let value = try await body(server)
            await server.close()
            return value
        } catch {
            await server.close()
            throw error
        }
    }

    /// The minimum length of a UUID prefix that identifies a group.
    private static let shortestPrefix = 4

    /// The group that `text` identifies: by its UUID, its name or the beginning of its UUID, if unique.
    static func group(_ text: String, of groups: [SharingGroup]) throws -> SharingGroup {
        if let uuid = SharingGroupUUID(text), let group = groups.first(where: { $0.sharingGroupUUID == uuid }) {
            return group
        }
        var meant = groups.filter { $0.sharingGroupName == text }
        if meant.isEmpty, text.count >= shortestPrefix {
            meant = groups.filter { $0.sharingGroupUUID.rawValue.lowercased().hasPrefix(text.lowercased()) }
        }
        guard let group = meant.first else {
            throw Failure(.failed, "you are in no group \(Output.printable(text)); syncdir groups lists yours")
        }
        guard meant.count == 1 else {
            let lines = meant.map {
                "  \($0.sharingGroupUUID.rawValue)  \(Output.printable($0.sharingGroupName ?? ""))"
            }
            throw Failure(
                .failed,
                "\(meant.count) groups match \(Output.printable(text)); choose one by its UUID, or the beginning of "
                    + "it:\n" + lines.joined(separator: "\n"))
        }
        return group
    }
}

/// The program's folders, according to the XDG Base Directory Specification.
struct Folders {
    /// For `config.json`.
    let configuration: URL
    /// For accounts.
    let state: URL

    /// - Throws: ``Failure`` if there is no home directory.
    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        func folder(_ variable: String, _ fallback: String) throws -> URL {
            // A relative path in a variable is invalid and counts as unset.
            if let path = environment[variable], path.hasPrefix("/") {
                return URL(filePath: path, directoryHint: .isDirectory).appending(path: "syncdir")
            }
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw Failure(.configuration, "neither HOME nor \(variable) names a folder for the program's files")
            }
            return URL(filePath: home, directoryHint: .isDirectory).appending(path: fallback + "/syncdir")
        }
        configuration = try folder("XDG_CONFIG_HOME", ".config")
        state = try folder("XDG_STATE_HOME", ".local/state")
    }
}

/// The contents of `config.json`; every member is optional.
struct Configuration: Codable {
    struct Google: Codable {
        var clientID: String
        var clientSecret: String
        /// The server's client; without one the server has access only while the program runs.
        var serverClientID: String?
        var ports: [UInt16]?
    }

    struct Dropbox: Codable {
        var appKey: String
        var ports: [UInt16]
    }

    struct Microsoft: Codable {
        var clientID: String
    }

    /// A Nextcloud or ownCloud server.
    struct Nextcloud: Codable {
        var address: String
        var clientID: String
        var clientSecret: String
        /// The server's client; without one the server has access only while the program runs.
        var serverClientID: String?
        var ports: [UInt16]?
    }

    /// The server's address.
    var server: String?
    var google: Google?
    var dropbox: Dropbox?
    var microsoft: Microsoft?
    var nextcloud: Nextcloud?
    /// The folder in the storage of accounts that need one; `SyncServer` by default.
    var cloudFolderName: String?
    /// MIME types by file name extension, in addition to those that every server accepts.
    var mimeTypes: [String: String]?

    /// Reads the file; empty if it does not exist.
    init(_ folders: Folders) throws {
        let file = folders.configuration.appending(path: "config.json")
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
        } catch {
            throw Failure(.configuration, "\(file.path) is not valid JSON, or has an invalid member")
        }
    }
}
