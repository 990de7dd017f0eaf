import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// One request on its way through the server; used by one thread.
final class RequestContext {
    let head: RequestHead
    let connection: any ClientConnection
    let body: RequestBody
    let services: Services
    let transport: Transport
    let deadline: Deadline
    var logger: Logger
    /// Whether this request, and not an earlier one, has committed staged changes; for statistics.
    var hasCommitted = false
    /// The quota for which the request is rejected, if any; for statistics.
    var refusedQuota: Quota?
    /// Whether this request has stored tokens without a refresh token for an account with storage; for statistics.
    var hasSignedInWithoutOfflineAccess = false
    /// The results of authorization codes that this request, not an earlier one, has exchanged, by the codes' hashes.
    var exchangedCodes: [[UInt8]: StoredCredentials] = [:]
    /// Headers of the reply, whether it is an error or not.
    var commonHeaders: [(name: String, value: String)] {
        UploadDialect(head) == .tus ? [(ResponseHeader.tusResumable.rawValue, UploadDialect.tusVersion)] : []
    }
    /// Continues the request if it waits for its sign-in without a thread; `nil` if it must keep its thread.
    var goOn: SignInCache.Continuation?
    /// Headers that the endpoint adds to its reply.
    var replyHeaders: [(name: String, value: String)] = []
    /// Whether the client reads long metadata of the downloaded file in a separate request.
    var mayOmitAppMetaData = false
    /// A file's metadata for the header of this reply.
    func headerMetaData(of file: FileRecord) -> HeaderMetaData {
        HeaderMetaData(file.appMetaData, mayOmit: mayOmitAppMetaData)
    }

    /// The user of this request, if already known.
    private(set) var userID: UserID?

    init(
        head: RequestHead, connection: any ClientConnection, services: Services, transport: Transport, logger: Logger
    ) {
        self.head = head
        self.connection = connection
        var services = services
        services.store = services.store.serving(head.requestID)
        self.services = services
        self.transport = transport
        self.logger = logger
        body = RequestBody(of: connection, announcedBytes: head.contentLength)
        deadline = .after(services.settings.requestTime)
    }

    var store: MetadataStore { services.store }
    /// The time of this request, by the database's clock: read once, so that rows and reply agree.
    ///
    /// Anything compared in the course of the request, such as a lease, uses a fresh ``Services/now``.
    private(set) lazy var now = services.now()
    /// Sets the time of this request, which has been waiting for its body, to the current time.
    func restartClock() { now = services.now() }

    /// How long a sign-in service may take; a waiting thread cannot serve other requests.
    static let signInTime: Duration = .seconds(9)

    /// A client for sign-in services, limited by this request's deadline and by ``signInTime`` from now.
    var accountClient: AccountClient {
        AccountClient(
            transport: transport, deadline: deadline.orAfter(Self.signInTime), backoff: services.storage.backoff,
            background: services.background,
            remark: { [logger] text in
                logger.notice("New storage has a notable property", metadata: .keyed([.reason: "\(text)"]))
            })
    }

    /// Records the user of this request.
    func note(_ user: UserRecord) {
        userID = user.userID
        logger[metadataKey: LogKey.userID.rawValue] = "\(user.userID)"
    }

    /// The storage of `owner`, with this request's deadline.
    /// - Throws: ``ErrorCode/ownerRemoved`` if they have left.
    func storage(of owner: OwningUser, for caller: SignedInUser) throws -> UserStorage {
        let user: UserRecord? =
            owner.userID == caller.userID ? caller.record : try store.withSession { try $0.user(owner.userID) }
        guard let user else { throw Refusal(.ownerRemoved) }
        return try services.storage.storage(of: user, transport: transport, deadline: deadline, logger: logger)
    }
}
