import Foundation
import SyncAccounts
import SyncClient

/// Who is signed in under a name.
struct Account: Codable {
    /// How the person signed in.
    enum Kind: String, Codable {
        case google, dropbox, microsoft, sandbox
    }

    var server: String
    var kind: Kind
    /// For people to read.
    var person: String
    /// The sandbox's control interface, and the account's name there.
    var sandbox: String?
    var sandboxAccount: String?
}

/// The files of the account of a name.
struct AccountFiles {
    let folder: URL
    private var file: URL { folder.appending(path: "account.json") }
    var credentials: URL { folder.appending(path: "credentials.json") }
    /// The library's store for what is about no directory.
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
            throw Failure(.configuration, "\(file.path) is not what syncdir wrote")
        }
    }

    func save(_ account: Account) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try JSONEncoder().encode(account).write(to: file, options: .atomic)
    }

    func remove() throws {
        for file in [file, credentials] where FileManager.default.fileExists(atPath: file.path) {
            try FileManager.default.removeItem(at: file)
        }
    }
}

/// Credentials of a signed-in account, as the library's connection wants them.
final class AccountConnection: CredentialProvider {
    private let provider: any AccountCredentialProvider
    private let session: AccountSession?

    /// - Parameter scheme: nil for an account of the sandbox.
    init(_ account: Account, _ files: AccountFiles, _ scheme: AccountScheme?) throws {
        guard let scheme else {
            guard let sandbox = account.sandbox.flatMap({ URL(string: $0) }), let id = account.sandboxAccount else {
                throw Failure(.configuration, "the sandbox's account is incomplete; use syncdir sign-in")
            }
            provider = SandboxSignIn(sandbox: sandbox, accountID: id)
            session = nil
            return
        }
        let session = try AccountSession(scheme, store: FileCredentialStore(file: files.credentials))
        provider = session
        self.session = session
    }

    func credentials() async -> Credentials? { await provider.credentials().map(Self.translated) }

    func refresh(_ refused: Credentials) async throws -> Credentials {
        guard let current = await provider.credentials() else { throw SignInError(.signInRequired) }
        // Somebody else was faster.
        let known = Self.translated(current)
        if session != nil, known != refused { return known }
        do { return Self.translated(try await provider.refresh(current)) } catch {
            if error.code == .providerUnavailable { throw CredentialRefreshFailure.unreachable }
            throw error
        }
    }

    /// The server has exchanged the code that came with the sign-in.
    func serverGrantWasTaken() async throws {
        if let session, let current = await session.credentials() {
            try await session.serverGrantWasTaken(with: current)
        }
    }

    private static func translated(_ credentials: AccountCredentials) -> Credentials {
        Credentials(
            accountType: credentials.accountType, accessToken: Secret(credentials.idToken ?? credentials.accessToken),
            authorizationCode: credentials.serverGrant.map { Secret($0.code) },
            accountID: credentials.accountType == .dropbox ? credentials.person.id : nil,
            microsoftAccessToken: credentials.accountType == .microsoft ? Secret(credentials.accessToken) : nil)
    }
}
