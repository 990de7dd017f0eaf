import Foundation
import SyncAccounts
import SyncClient
import SyncErrorSentences

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
                throw Failure(.configuration, "the Nextcloud's address in config.json is invalid: \(client.address)")
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
