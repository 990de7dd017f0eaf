import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection
import Synchronization
import TestSupport

/// A person's device, operated through the library, on a running stack.
struct Phone: Sendable {
    /// The person, for actions of the tests that bypass the library.
    let user: TestUser
    let connection: ServerConnection
    let credentials: PhoneCredentials
    let executor: MeddlingExecutor
    /// The group of the person's sign-up.
    let group: SharingGroupUUID
    /// For the device's files.
    private let scratch: ScratchFolder
    private var folder: URL { scratch.url }

    /// A device of a person with an account at a provider.
    /// - Parameters:
    ///   - isOlderServer: Whether the server appears without its extensions.
    ///   - directUploads: Whether it sends large files directly to the storage.
    ///   - directDownloads: Whether it reads files directly from the storage.
    init(
        _ user: TestUser, isOlderServer: Bool = false, directUploads: Bool = false, directDownloads: Bool = false
    ) throws {
        self.user = user
        let address =
            isOlderServer
            ? try user.server.environment.value("SYNC_OLDER_HTTP_URL")
            : "http://\(user.server.address.host):\(user.server.address.port)\(user.server.address.prefix)"
        credentials = PhoneCredentials(user.account)
        executor = MeddlingExecutor()
        var configuration = ServerConnectionConfiguration(
            baseURL: URL(string: address)!, deviceUUID: DeviceUUID(user.device)!,
            minimumServerVersion: ServerVersion(0, 25, 1))
        configuration.directUploads = directUploads
        configuration.directDownloads = directDownloads
        connection = ServerConnection(
            configuration, credentialProvider: credentials, executor: executor,
            // Skips pauses to save time; other tests check them.
            environment: ConnectionEnvironment(
                sleep: { _ in try Task.checkCancellation() }, randomFraction: { 0 }, now: { Date() }))
        if directUploads || directDownloads { executor.server.withLock { $0 = user.server } }
        group = SharingGroupUUID(user.group)!
        scratch = try ScratchFolder("phone")
    }

    /// A device of someone who has just signed up with the library.
    static func signedUp(
        _ server: TestServer, _ provider: SandboxProvider = .google, isOlderServer: Bool = false,
        directUploads: Bool = false, directDownloads: Bool = false
    ) async throws -> Phone {
        let phone = try Phone(
            server.newcomer(provider), isOlderServer: isOlderServer, directUploads: directUploads,
            directDownloads: directDownloads)
        _ = try await phone.connection.addUser(
            AddUserRequest(
                sharingGroupUUID: phone.group, sharingGroupName: "Tom & Jerry + 100 %",
                cloudFolderName: provider == .google ? phone.user.folder : nil))
        return phone
    }

    /// Creates a file on the device.
    func file(_ bytes: Data) throws -> URL {
        let file = folder.appending(path: UUID().uuidString)
        try bytes.write(to: file)
        return file
    }

    /// A name for a new file.
    var newFile: URL { folder.appending(path: UUID().uuidString) }

    /// Uploads bytes as a new version of a file.
    func upload(
        _ bytes: Data, as uuid: FileUUID, version: FileVersion = .first, masterVersion: Int64,
        metadata: AppMetaData? = nil, batch: UploadBatch? = nil
    ) async throws -> Outcome<StagedFile> {
        let file = try file(bytes)
        let flavour = storage.checkSumFlavour
        let request = UploadFileRequest(
            fileUUID: uuid, sharingGroupUUID: group, mimeType: MIMEType("text/plain")!, fileVersion: version,
            masterVersion: MasterVersion(masterVersion),
            checkSum: try await CheckSum.ofFile(at: file, flavour: flavour), appMetaData: metadata, batch: batch)
        return try await connection.uploadFile(request, from: file)
    }

    /// Uploads and commits the first version of a file.
    func publish(_ bytes: Data, masterVersion: Int64, metadata: AppMetaData? = nil) async throws -> FileUUID {
        let uuid = FileUUID(UUID().uuidString)!
        _ = try await upload(bytes, as: uuid, masterVersion: masterVersion, metadata: metadata)
        _ = try await commit(masterVersion)
        return uuid
    }

    /// Commits with a fresh id.
    func commit(_ masterVersion: Int64) async throws -> Outcome<Int> {
        try await connection.doneUploads(
            DoneUploadsRequest(
                masterVersion: MasterVersion(masterVersion), sharingGroupUUID: group,
                commitID: CommitID(UUID().uuidString)))
    }

    /// Downloads a version of a file.
    func download(
        _ uuid: FileUUID, version: FileVersion = .first, masterVersion: Int64, metadata: AppMetaDataVersion? = nil,
        to file: URL
    ) async throws -> Outcome<DownloadedFile> {
        try await connection.downloadFile(
            DownloadFileRequest(
                fileUUID: uuid, fileVersion: version, masterVersion: MasterVersion(masterVersion),
                sharingGroupUUID: group, appMetaDataVersion: metadata), to: file)
    }

    /// The index of the group.
    func index(since: Int64? = nil, tag: String? = nil) async throws -> IndexOutcome {
        try await connection.index(
            IndexRequest(sharingGroupUUID: group, since: since.map { MasterVersion($0) }), ifChangedFrom: tag)
    }

    /// The files of the group.
    func files(since: Int64? = nil) async throws -> IndexResponse.Files? {
        guard case .changed(let response, _) = try await index(since: since) else { return nil }
        return response.files
    }

    /// The person's storage.
    var storage: CloudStorageType {
        switch user.account.provider {
        case .dropbox: .dropbox
        case .microsoft: .microsoft
        default: .google
        }
    }
}

/// The credentials of an account of the sandbox.
final class PhoneCredentials: CredentialProvider {
    private let account: SandboxAccount
    private let token: String
    private let state: Mutex<(token: String, refreshes: Int)>

    init(_ account: SandboxAccount) {
        self.account = account
        // Not always the access token: Microsoft users send their ID token here.
        token = account.header("access_token") ?? account.accessToken
        state = Mutex((token, 0))
    }

    /// The number of refreshes.
    var refreshes: Int { state.withLock { $0.refreshes } }

    /// Invalidates the token; a refresh restores it.
    func forgetToken() { state.withLock { $0.token = "expired-\(UUID().uuidString)" } }

    func credentials() async -> Credentials? { made(state.withLock { $0.token }) }

    func refresh(_ refused: Credentials) async throws -> Credentials {
        state.withLock {
            $0.refreshes += 1
            $0.token = token
        }
        return made(token)
    }

    private func made(_ token: String) -> Credentials {
        Credentials(
            accountType: AccountType(tokenType: account.header("X-token-type") ?? "") ?? .google,
            accessToken: Secret(token),
            authorizationCode: account.header("SyncServer-authorization-code").map(Secret.init),
            accountID: account.header("X-account-id"),
            microsoftAccessToken: account.header("X-microsoft-access-token").map(Secret.init))
    }
}

/// Sends requests with the platform's executor, and loses replies on demand.
final class MeddlingExecutor: HTTPExecutor {
    private let executor = PlatformExecutor()
    private let state = Mutex((lost: 0, count: 0))
    private let cuts = Mutex((next: [Int](), sentBytes: Int64(0)))

    var sendsParts: Bool { true }

    /// The number of requests sent.
    var count: Int { state.withLock { $0.count } }

    /// The requests sent directly to an owner's storage.
    let direct = Mutex<[HTTPRequest]>([])
    /// The number of the direct request before which the caller is cancelled, as if the process had ended.
    let cancelsDirect = Mutex<Int?>(nil)
    /// Whether the storage is unreachable for the phone.
    let refusesDirect = Mutex(false)
    /// The server, for a phone that sends to storages directly.
    let server = Mutex<TestServer?>(nil)

    /// Loses the replies of the next requests after they arrive.
    func loseReplies(_ count: Int) { state.withLock { $0.lost = count } }

    /// The number of bytes sent in parts.
    var sentPartBytes: Int64 { cuts.withLock { $0.sentBytes } }

    /// Cuts the connections of the next parts, each after so many bytes.
    func cutParts(after bytes: [Int]) { cuts.withLock { $0.next = bytes } }

    /// Sends the beginning of a part, and closes the connection.
    private func cut(_ exchange: HTTPExchange, _ bytes: Data) async throws {
        let address = try HTTPAddress("http://\(exchange.request.authority ?? "")")
        let call = HTTPCall(
            exchange.request.method.rawValue, exchange.request.path ?? "/",
            headers: exchange.request.headerFields.map { ($0.name.rawName, $0.value) })
        guard case .part(_, let range) = exchange.body else { return }
        try await Threads.run {
            let conversation = try HTTPConversation(to: address)
            try conversation.send(call.head(for: address, contentLength: range.count))
            try conversation.send(bytes)
            conversation.finishSending()
        }
    }

    /// Sends a request to the sandbox, using the storage's host name and the sandbox's certificate authority.
    private func exchangeDirectly(
        _ exchange: HTTPExchange, _ server: TestServer
    ) async throws -> SyncServerConnection.HTTPReply {
        let request = exchange.request
        let url = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")"
        var arguments = ["--request", request.method.rawValue]
        arguments += request.headerFields.flatMap { ["--header", "\($0.name.rawName): \($0.value)"] }
        let folder = try ScratchFolder("direct-body")
        let body = folder.url.appending(path: "body")
        switch exchange.body {
        case .file(let file): arguments += ["--data-binary", "@\(file.path)"]
        case .part(let file, let range):
            try Data(contentsOf: file)[Int(range.lowerBound)..<Int(range.upperBound)].write(to: body)
            arguments += ["--data-binary", "@\(body.path)"]
        case .bytes, .none: if request.method != .get { arguments += ["--data-binary", ""] }
        }
        let sent = arguments
        let reply = try await Threads.run {
            try server.exchange(sent, withStorage: .object(["url": .string(url)]))
        }
        var fields = HTTPFields()
        for header in reply.headers { HTTPField.Name(header.name).map { fields[$0] = header.value } }
        let response = HTTPResponse(status: .init(code: reply.status), headerFields: fields)
        guard let destination = exchange.destination, let partial = exchange.partial, try partial.begin(response) else {
            guard reply.isComplete else { throw TransportFailure(.interrupted) }
            return SyncServerConnection.HTTPReply(response: response, body: Data(reply.body))
        }
        try partial.append(Data(reply.body))
        partial.end()
        guard reply.isComplete else { throw TransportFailure(.interrupted) }
        let length = partial.receivedBytes
        try? FileManager.default.removeItem(at: destination)
        try FileManager.default.moveItem(at: partial.file, to: destination)
        partial.complete()
        return SyncServerConnection.HTTPReply(response: response, fileLength: length)
    }

    func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(TransportFailure) -> SyncServerConnection.HTTPReply {
        let isLost = state.withLock { state in
            state.count += 1
            guard state.lost > 0 else { return false }
            state.lost -= 1
            return true
        }
        if let server = server.withLock({ $0 }), exchange.request.authority?.hasPrefix(server.address.host) == false {
            let count = direct.withLock { direct in
                direct.append(exchange.request)
                return direct.count
            }
            if refusesDirect.withLock({ $0 }) { throw TransportFailure(.notConnected) }
            if cancelsDirect.withLock({ $0 }) == count { throw TransportFailure(.cancelled) }
            do { return try await exchangeDirectly(exchange, server) } catch { throw TransportFailure(.interrupted) }
        }
        if case .part(let file, let range) = exchange.body {
            let cut = cuts.withLock { cuts -> Int? in
                let cut = cuts.next.isEmpty ? nil : min(cuts.next.removeFirst(), range.count - 1)
                cuts.sentBytes += Int64(cut ?? range.count)
                return cut
            }
            if let cut, let contents = try? Data(contentsOf: file) {
                try? await self.cut(exchange, contents[Int(range.lowerBound)...].prefix(cut))
                throw TransportFailure(.interrupted)
            }
        }
        let reply = try await executor.execute(exchange, progress: progress)
        if isLost { throw TransportFailure(.interrupted) }
        return reply
    }
}

/// The error with which `body` ends; nil if it ends without one.
func failure(_ body: () async throws -> some Any) async throws -> ServerConnectionError? {
    do {
        _ = try await body()
        return nil
    } catch let error as ServerConnectionError {
        return error
    }
}
