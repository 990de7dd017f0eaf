import Foundation
import HTTPTransport
import Logging
import MariaDB
import OpenSSLCrypto
import Posix
import Providers
import Store
import SyncProtocol
import Synchronization
import TestSupport
import Testing
import Vault

@testable import SyncService

/// The router over the test's own database (or none), a cloud in memory, and a clock that does not move.
struct TestServer: Sendable {
    let store: MetadataStore
    let keys: KeyRing
    var sealer: CredentialSealer { CredentialSealer(keys: keys) }
    let services: Services
    let router: Router
    let cloud = FakeCloud()
    let exchanges = FakeAccount.Exchanges()
    let log = LogKeeper()
    let waits = Waits()
    let commits = CommitRecord()
    let refusals = RefusalRecord()
    let unreadableRecords = Waits()
    let signInsWithoutOfflineAccess = Waits()
    /// Counts finished work on background threads.
    let backgroundWork = Waits()
    let settings: ConnectionSettings?
    /// The replies of providers; without it no request to a provider is allowed.
    let providers: ScriptedTransport?

    /// Without a database, every use of the store throws an error that says it is unavailable.
    init(
        withDatabase: Bool = true, minimumIOSClientVersion: String? = nil, maximumUploadBytes: Int64 = 5 << 30,
        signInTimeToLive: Duration = .seconds(60), signInClock: SteppedClock? = nil, signInsWaiting: Int = .max,
        failedSignInsPerMinute: Int = 1_000, strangeServersPerNetwork: Int = 1_000,
        accounts: [any AccountProvider] = [], push: PushServices = PushServices(),
        providers: ScriptedTransport? = nil, quotas: Quotas = .standard, requestTurns: RequestTurns? = nil,
        transferLimit: TransferLimit? = nil, redirectURIs: Set<String> = [], publicURL: String? = nil,
        replacedVersionSeconds: Int64 = 0, watchesMaintenance: Bool = false,
        now: @escaping @Sendable () -> WireDate = { noon }
    ) throws {
        self.providers = providers
        let settings =
            withDatabase
            ? try ScratchDatabase.shared().makeDatabase { settings in
                var runner = try MigrationRunner(settings, leaseOwner: "test")
                _ = try runner.migrate()
            } : nil
        self.settings = settings
        store = MetadataStore(
            pool: ConnectionPool(
                settings: settings
                    ?? ConnectionSettings(address: .unixSocket(path: "/nowhere"), user: "", password: "", database: nil),
                maximumConnections: 8, leaseTimeout: .seconds(20)),
            pause: { _ in sched_yield() })
        if withDatabase { store.open() }
        keys = KeyRing(current: try SealingKey(Array(0..<32)))
        let storage = StorageRegistry(
            store: store, sealer: CredentialSealer(keys: keys),
            backoff: Backoff(pause: { [waits] _ in waits.note() }), providers: [cloud],
            accounts: [FakeAccount(accountType: .google, exchanges: exchanges), FakeAccount(accountType: .facebook)]
                + accounts,
            unreadable: { [unreadableRecords] in unreadableRecords.note() })
        services = Services(
            store: store, storage: storage, push: push,
            signInCache: SignInCache(
                timeToLive: signInTimeToLive, maximumWaiting: signInsWaiting, pause: { Pause.sleep($0) },
                now: { signInClock?.now ?? .now }),
            failedSignIns: FailedSignIns(perMinute: failedSignInsPerMinute),
            strangeServers: StrangeServers(perNetwork: strangeServersPerNetwork),
            settings: Services.Settings(
                serverVersion: "1.2.3", minimumIOSClientVersion: minimumIOSClientVersion,
                maximumUploadBytes: maximumUploadBytes, quotas: quotas, mimeTypes: .standard,
                writesWarningFile: true, redirectURIs: redirectURIs, replacedVersionSeconds: replacedVersionSeconds,
                publicURL: publicURL),
            partBudget: PartBudget(), now: now, uptime: { .seconds(5) }, makeUUID: { UUID().uuidString },
            background: { [backgroundWork] body in
                Thread.detachNewThread {
                    body()
                    backgroundWork.note()
                }
            },
            signInTickets: SignInTickets(keys: keys),
            requestTurns: requestTurns, transferLimit: transferLimit,
            maintenance: watchesMaintenance
                ? MaintenanceWatch(store: store, logger: Logger(label: "watch", factory: { [log] _ in log })) : nil)
        var logger = Logger(label: "test", factory: { [log] _ in log })
        logger.logLevel = .debug
        router = Router(
            services: services,
            observer: RequestObserver(
                began: { _ in }, ended: { _, _, _, _ in }, committed: { [commits] in commits.note($0) },
                refused: { [refusals] in refusals.note($0) },
                lackedOfflineAccess: { [signInsWithoutOfflineAccess] in signInsWithoutOfflineAccess.note() }),
            logger: logger)
    }

    /// A context for tests below the router.
    func context(_ connection: FakeConnection, contentLength: Int64? = nil) -> RequestContext {
        RequestContext(
            head: RequestHead(
                method: "GET", path: "/", query: "", contentLength: contentLength, requestID: "r", headers: [:]),
            connection: connection, services: services, transport: .unused,
            logger: Logger(label: "test", factory: { [log] _ in log }))
    }

    @discardableResult
    func send(
        _ method: String, _ path: String, query: String = "", headers: [RequestHeader: String] = [:],
        announcing length: Int64? = nil, from address: String = "192.0.2.1",
        on connection: FakeConnection = FakeConnection()
    ) -> FakeConnection {
        router.handle(
            RequestHead(
                method: method, path: path, query: query, contentLength: length, clientAddress: address,
                requestID: "request-1",
                headers: headers),
            on: connection, transport: providers?.transport ?? .unused)
        return connection
    }

    @discardableResult
    func send(
        _ request: some RequestMessage, as phone: Phone?, adding headers: [RequestHeader: String] = [:],
        announcing length: Int64? = nil, on connection: FakeConnection = FakeConnection()
    ) -> FakeConnection {
        let endpoint = type(of: request).endpoint
        return send(
            endpoint.route.method.rawValue, "/\(endpoint.rawValue)/", query: request.encodedQuery,
            headers: (phone?.headers ?? [:]).merging(headers) { $1 }, announcing: length, on: connection)
    }

    /// The number that a query returns.
    func count(_ sql: StaticString) throws -> Int {
        var connection = try Connection(settings!)
        var count = -1
        try connection.query(SQL(stringLiteral: sql)) { (row) throws(MariaDBError) in count = Int(try row.int(0)) }
        return count
    }

    /// Changes the database behind the server's back.
    func execute(_ sql: String) throws {
        var connection = try Connection(settings!)
        try connection.executeScript(sql)
    }

    /// Begins a rebuild as `syncctl rebuild begin` does, with copies of the objects in the lost server's storage.
    /// - Parameter knowsKey: whether it trusts manifests that its own key has signed.
    func beginRebuild(of lost: TestServer, knowsKey: Bool = true, holds: Bool = false) throws {
        let names = lost.cloud.namesByID
        for (id, bytes) in lost.cloud.objects { cloud.put(id, names[id] ?? "", bytes) }
        try execute(
            """
            INSERT INTO rebuilds (rebuild_id, begun_at, cloud_folder_name, holds_everyone, first_new_user_id)
            VALUES (1, '2027-01-15 08:00:00', 'F', \(holds), 1000000000);
            ALTER TABLE users AUTO_INCREMENT = 1000000000
            """)
        if knowsKey {
            let key = try keys.current.manifestKey().publicKey.hexLowercase
            try execute("INSERT INTO manifest_keys VALUES (X'\(key)', '2027-01-15 08:00:00')")
        }
        services.maintenance?.refresh()
    }

    // MARK: Users

    /// A Google user with a group, on a phone.
    func signUp(_ name: String = "alice") throws -> Phone {
        let phone = Phone(name: name, accountType: .google)
        let reply = send(AddUserRequest(sharingGroupUUID: phone.group, cloudFolderName: "F"), as: phone)
        try #require(reply.status == 200, "\(reply.json)")
        return phone
    }

    func upload(
        _ bytes: [UInt8], of file: FileUUID, version: Int32 = 0, master: Int64 = 0, batch: UploadBatch? = nil,
        by phone: Phone
    ) -> FakeConnection {
        send(
            UploadFileRequest.of(file, bytes, version: version, master: master, in: phone.group, batch: batch),
            as: phone, announcing: Int64(bytes.count), on: FakeConnection(body: bytes))
    }

    func commit(from master: Int64, by phone: Phone, renaming name: String? = nil) -> FakeConnection {
        send(
            DoneUploadsRequest(
                masterVersion: MasterVersion(master), sharingGroupUUID: phone.group, sharingGroupName: name), as: phone)
    }

    /// Adds a user without storage to `host`'s group, which increments its master version.
    func join(_ host: Phone, as name: String, _ permission: Permission = .write) throws -> Phone {
        let code =
            send(
                CreateSharingInvitationRequest(permission: permission, sharingGroupUUID: host.group), as: host
            ).json["sharingInvitationUUID"] as? String
        let invitation = try #require(code.flatMap { SharingInvitationUUID($0) })
        var guest = Phone(name: name, accountType: .facebook)
        guest.group = host.group
        let reply = send(RedeemSharingInvitationRequest(sharingInvitationUUID: invitation), as: guest)
        try #require(reply.status == 200, "\(reply.json)")
        return guest
    }

    /// The user of a phone.
    func userID(of phone: Phone) throws -> UserID {
        UserID(try #require(send(CheckCredsRequest(), as: phone).json["userId"] as? Int64))
    }
}

/// One device of one user, and its group.
struct Phone: Sendable {
    var name: String
    var accountType: AccountType
    var device = DeviceUUID(UUID().uuidString)!
    var group = SharingGroupUUID(UUID().uuidString)!

    var headers: [RequestHeader: String] {
        [.tokenType: accountType.tokenType, .accessToken: "good \(name)", .deviceUUID: device.rawValue]
    }
}

extension UploadFileRequest {
    static func of(
        _ file: FileUUID, _ bytes: [UInt8], version: Int32, master: Int64, in group: SharingGroupUUID,
        batch: UploadBatch? = nil
    ) -> UploadFileRequest {
        UploadFileRequest(
            fileUUID: file, sharingGroupUUID: group, mimeType: MIMEType("text/plain")!,
            fileVersion: FileVersion(version), masterVersion: MasterVersion(master), checkSum: CheckSum(md5(bytes))!,
            batch: batch)
    }
}

/// Counts events such as waits.
final class Waits: Sendable {
    private let noted = Atomic(0)
    var count: Int { noted.load(ordering: .relaxed) }

    func note() {
        noted.add(1, ordering: .relaxed)
        sched_yield()
    }
}

extension Transport {
    /// For tests in which nothing may be sent.
    static var unused: Transport {
        Transport(
            send: { request, _ throws(TransportError) in throw .refused("\(request.url) was asked") },
            stream: { request, _, _, _ throws(TransportError) in throw .refused("\(request.url) was asked") })
    }
}

/// Keeps log lines.
final class LogKeeper: LogHandler {
    private let kept = Mutex<[(message: String, metadata: [String: String])]>([])
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        keep("\(event.message)", event.metadata ?? [:])
    }

    fileprivate func keep(_ message: String, _ metadata: Logger.Metadata) {
        kept.withLock { $0.append((message, metadata.mapValues { "\($0)" })) }
    }

    /// The fields of all lines with this message.
    func lines(_ message: String) -> [[String: String]] {
        kept.withLock { kept in kept.filter { $0.message == message }.map(\.metadata) }
    }

    /// The line about the newest request.
    var request: [String: String]? { kept.withLock { $0.last { $0.message == "Request" }?.metadata } }
    /// Everything, as text.
    var text: String { kept.withLock { "\($0)" } }
}

/// The endpoints whose commits the observer has reported.
final class CommitRecord: Sendable {
    private let kept = Mutex<[EndpointName]>([])
    var endpoints: [EndpointName] { kept.withLock { $0 } }
    func note(_ endpoint: EndpointName) { kept.withLock { $0.append(endpoint) } }
}

/// The quotas whose rejections the observer has reported.
final class RefusalRecord: Sendable {
    private let kept = Mutex<[Quota]>([])
    var quotas: [Quota] { kept.withLock { $0 } }
    func note(_ quota: Quota) { kept.withLock { $0.append(quota) } }
}

/// Keeps lines with the fields that their logger adds to each of them.
struct WholeLines: LogHandler {
    let keeper: LogKeeper
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    init(_ keeper: LogKeeper) { self.keeper = keeper }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        keeper.keep("\(event.message)", metadata.merging(event.metadata ?? [:]) { $1 })
    }
}

/// A clock that advances by a second with each reading.
final class TickingClock: Sendable {
    private let seconds = Atomic<Int64>(noon.secondsSince1970)
    func next() -> WireDate {
        WireDate(secondsSince1970: seconds.add(1, ordering: .relaxed).newValue)
    }
}

/// A clock that stands still until a test moves it.
final class SteppedClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { instant.withLock { $0 } }
    func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
}

/// The fixed time of all tests.
let noon = WireDate(secondsSince1970: 1_800_000_000)

func someFile() -> FileUUID { FileUUID(UUID().uuidString)! }

/// Bytes without repetitions over short distances.
func someBytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count { bytes += repeatedBytes.prefix(count - bytes.count) }
    return bytes
}

private let repeatedBytes = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
