import Foundation
import HTTPTransport
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing
import Vault

/// A user's account at an emulated provider, with the tokens that a server has obtained for it and the folder that all
/// its processes remember.
final class ContractAccount: Sendable {
    let kind: ProviderUnderTest
    let sandbox: SandboxControl
    /// The account at an emulated provider; `nil` for a real server.
    private let emulated: SandboxAccount?
    private let presented: PresentedCredentials
    /// The emulated account; only for tests of emulated providers.
    var account: SandboxAccount {
        guard let emulated else { preconditionFailure("\(kind.name) is a real server") }
        return emulated
    }
    let folder: RememberedFolder
    let pauses = PauseRecord()
    let credentials: Mutex<StoredCredentials>
    private static let lastKey = Mutex<Int64>(0)
    /// Distinguishes accounts; see ``AccessTokens/accountKey``.
    let key: Int64

    init(_ kind: ProviderUnderTest, folder: String = "Sync Tests", quotaBytes: Int? = nil) throws {
        self.kind = kind
        self.folder = RememberedFolder(name: folder)
        sandbox = try ContractSandbox.server().sandbox
        emulated = try kind.sandboxProvider.map { [sandbox] provider in
            try sandbox.createAccount(provider, name: "Alice Example", quotaBytes: quotaBytes)
        }
        key = Self.lastKey.withLock { last in
            last += 1
            return last
        }
        if let emulated {
            presented = PresentedCredentials(
                accountType: kind.account.accountType,
                accessToken: emulated.header("access_token") ?? emulated.accessToken,
                authorizationCode: emulated.header("SyncServer-authorization-code"),
                accountID: emulated.header("X-account-id"),
                microsoftAccessToken: emulated.header("X-microsoft-access-token"),
                accountDetails: emulated.header("X-account-details"))
        } else {
            presented = try #require(kind.real).addPerson(to: sandbox)
        }
        // Not earlier, because a real server may have to be installed first.
        let sender = CurlSenderPool(routing: try ContractSandbox.routing())
        let client = AccountClient(
            transport: sender.transport, deadline: .after(.seconds(20)), backoff: pauses.backoff())
        let profile = try kind.account.verify(presented, through: client)
        var credentials = kind.account.credentials(from: presented)
        if let code = presented.code,
            let exchanged = try kind.account.exchange(code: code, of: profile, through: client)
        {
            credentials = credentials.updated(with: exchanged)
        } else if let exchanged = try kind.account.exchange(presented, of: profile, through: client) {
            credentials = credentials.updated(with: exchanged)
        }
        self.credentials = Mutex(credentials)
    }

    /// The account's storage for the calling thread, as seen by a process that has just started.
    func open() throws -> ContractStorage { try ContractStorage(self) }

    /// The files in the storage, as its owner sees them.
    func files() throws -> [StoredFile] {
        try kind.real?.files(of: presented) ?? sandbox.files(of: account)
    }

    /// The bytes of a file, as its owner sees them.
    func contents(of name: String) throws -> [UInt8]? {
        if let real = kind.real { return try real.contents(of: name, of: presented) }
        return try sandbox.contents(of: name, in: account)
    }

    /// The owner stores a file in our folder.
    func store(_ bytes: [UInt8], as name: String) throws {
        if let real = kind.real { return try real.store(bytes, as: name, of: presented) }
        try sandbox.store(bytes, as: name, in: account, folder: kind.ownerFolder)
    }

    /// The owner deletes a file.
    func delete(_ name: String) throws {
        if let real = kind.real { return try real.delete(name, of: presented) }
        try sandbox.delete(name, in: account)
    }

    /// The owner revokes the app's access.
    func revoke() throws {
        if let real = kind.real { return try real.revoke(presented, in: sandbox) }
        try sandbox.revoke(account)
    }

    /// The number of requests during `body` that concern objects.
    func calls(during body: () throws -> Void) throws -> Int { try requests(during: body).count }

    /// The number of requests during `body` that renew a token.
    func renewals(during body: () throws -> Void) throws -> Int {
        try all(during: body).filter(kind.renewsToken).count
    }

    /// The requests during `body` that concern objects.
    func requests(during body: () throws -> Void) throws -> [JSONValue] {
        try all(during: body).filter(kind.concernsObjects)
    }

    private func all(during body: () throws -> Void) throws -> [JSONValue] {
        let before = try sandbox.lastRequest()
        try body()
        return try sandbox.requests(since: before)
    }
}

/// A ``ContractAccount``'s storage for one thread.
final class ContractStorage {
    let account: ContractAccount
    let provider: any CloudProvider
    let transport: Transport
    private let tokens: RenewableTokens
    private let record = CallRecord()

    init(_ account: ContractAccount) throws {
        self.account = account
        provider = account.kind.makeProvider()
        transport = record.keeping(CurlSenderPool(routing: try ContractSandbox.routing()).transport)
        tokens = RenewableTokens(account, transport: transport)
    }

    /// The purposes of the requests during `body`, as the adapter names them; in order, without repetitions in a row.
    func operations(during body: () throws -> Void) rethrows -> [ProviderCall.Operation] {
        record.operations = []
        try body()
        return record.operations
    }

    var token: String { get throws { try tokens.current().text } }

    /// The means of access to the provider, for an operation of at most `time`.
    func access(within time: Duration = .seconds(40)) -> StorageAccess {
        StorageAccess(
            transport: transport, tokens: tokens, folder: account.folder, deadline: .after(time),
            backoff: account.pauses.backoff())
    }

    /// Reserves a name and uploads to it.
    @discardableResult
    func store(_ content: PartedContent, as name: String = "file.bin") throws -> StoredObject {
        let reservation = try provider.reserve(name: name, in: access())
        return try provider.upload(content, as: reservation, mimeType: "application/octet-stream", to: access())
    }

    @discardableResult
    func store(_ bytes: [UInt8], as name: String = "file.bin") throws -> StoredObject {
        try store(PartedContent(bytes, for: account.kind), as: name)
    }

    /// The complete contents of an object.
    func read(_ objectID: String, within time: Duration = .seconds(40)) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try provider.download(objectID: objectID, from: access(within: time)) { part in
            for index in part.indices { bytes.append(part[index]) }
            return true
        }
        return bytes
    }
}

/// Records the purposes of requests, and expects that each goes to a host of the service that it names.
private final class CallRecord {
    var operations: [ProviderCall.Operation] = []

    func keeping(_ transport: Transport) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                self.note(request)
                return try transport.send(request, by: deadline)
            },
            stream: { request, deadline, head, body throws(TransportError) in
                self.note(request)
                return try transport.stream(request, by: deadline, head: head, body: body)
            })
    }

    private func note(_ request: OutgoingRequest) {
        let host = HTTPSAddress(request.url)?.host ?? ""
        let service = request.call.service
        // A service without hosts uses servers named by users.
        #expect(service.hosts.isEmpty || service.entry(for: host) != nil, "\(host) is not \(service)'s")
        if operations.last != request.call.operation { operations.append(request.call.operation) }
    }
}

/// The tokens of one account, renewed at its provider's token endpoint.
private final class RenewableTokens: AccessTokens {
    private let account: ContractAccount
    private let transport: Transport

    init(_ account: ContractAccount, transport: Transport) {
        self.account = account
        self.transport = transport
    }

    var accountKey: Int64 { account.key }

    func current() throws(CloudStorageError) -> AccessToken {
        let stored = account.credentials.withLock { $0 }
        guard let token = stored.usableToken else { throw .authorizationRevoked }
        return AccessToken(token, at: stored.location)
    }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        let stored = account.credentials.withLock { $0 }
        if let token = stored.accessToken, token != rejected { return AccessToken(token, at: stored.location) }
        do {
            let client = AccountClient(transport: transport, deadline: deadline, backoff: account.pauses.backoff())
            let fresh = try account.kind.account.refresh(stored, through: client)
            account.credentials.withLock { $0 = $0.updated(with: fresh) }
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        return try current()
    }
}

/// The folder that all processes remember.
final class RememberedFolder: FolderMemory, Sendable {
    private struct State {
        var folderID: String?
        var isDue = false
    }
    let name: String?
    private let state = Mutex(State())

    init(name: String?) { self.name = name }

    var folderID: String? { state.withLock { $0.folderID } }

    func replace(_ old: String?, by new: String) -> String {
        state.withLock { state in
            if state.folderID == old { state.folderID = new }
            return state.folderID ?? new
        }
    }

    func isDueForVerification() -> Bool {
        state.withLock { state in
            defer { state.isDue = false }
            return state.isDue
        }
    }

    func markDoubtful() { state.withLock { $0.isDue = true } }
}

extension StoredObject {
    /// Without the properties that some providers report only in descriptions.
    var undated: StoredObject {
        var object = self
        (object.createdAt, object.sha256) = (nil, nil)
        return object
    }
}
