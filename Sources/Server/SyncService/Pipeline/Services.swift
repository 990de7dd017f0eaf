public import HTTPTransport
public import Providers
public import Store
public import SyncProtocol
public import Vault

/// The services shared by all requests; created once by the composition root.
public struct Services: Sendable {
    public var store: MetadataStore
    public var storage: StorageRegistry
    /// The push notification services.
    public var push: PushServices
    public var signInCache: SignInCache
    public var failedSignIns: FailedSignIns
    public var passwordMemory = PasswordMemory()
    public var strangeServers: StrangeServers
    public var refusalLog: RefusalLog
    public let stagedAllowances = StagedAllowances()
    public var settings: Settings
    public var partBudget: PartBudget
    /// The current time by the database's clock; advances during a request, unlike ``RequestContext/now``.
    public var now: @Sendable () -> WireDate
    public var uptime: @Sendable () -> Duration
    /// A random UUID, in upper case.
    public var makeUUID: @Sendable () throws -> String
    public var background: Background
    /// Passes sign-ins from the role that admits a transfer to the role that performs it; `nil` if that is not used.
    public var signInTickets: SignInTickets?
    /// Limits the concurrent requests from one user; `nil` for no limit.
    public var requestTurns: RequestTurns?
    /// Limits the transfers of one user and of one direction; `nil` for no limit.
    public var transferLimit: TransferLimit?
    /// Reports whether the server is closed for maintenance; `nil` if the process does not check that.
    public var maintenance: MaintenanceWatch?
    /// Whether requests are rejected while the server is closed. Transfers that the api role has admitted have begun
    /// and continue.
    public var refusesDuringMaintenance: Bool
    /// The streams of changes that this process has admitted; `nil` if the server offers none.
    public var changeStreams: ChangeStreams?

    public init(
        store: MetadataStore, storage: StorageRegistry, push: PushServices = PushServices(), signInCache: SignInCache,
        failedSignIns: FailedSignIns, strangeServers: StrangeServers, refusalLog: RefusalLog = RefusalLog(),
        settings: Settings, partBudget: PartBudget,
        now: @escaping @Sendable () -> WireDate, uptime: @escaping @Sendable () -> Duration,
        makeUUID: @escaping @Sendable () throws -> String, background: @escaping Background,
        signInTickets: SignInTickets? = nil, requestTurns: RequestTurns? = nil, transferLimit: TransferLimit? = nil,
        maintenance: MaintenanceWatch? = nil, refusesDuringMaintenance: Bool = true,
        changeStreams: ChangeStreams? = nil
    ) {
        self.store = store
        self.storage = storage
        self.push = push
        self.signInCache = signInCache
        self.failedSignIns = failedSignIns
        self.strangeServers = strangeServers
        self.refusalLog = refusalLog
        self.settings = settings
        self.partBudget = partBudget
        self.now = now
        self.uptime = uptime
        self.makeUUID = makeUUID
        self.background = background
        self.signInTickets = signInTickets
        self.requestTurns = requestTurns
        self.transferLimit = transferLimit
        self.maintenance = maintenance
        self.refusesDuringMaintenance = refusesDuringMaintenance
        self.changeStreams = changeStreams
    }

    /// Settings made by the operator.
    public struct Settings: Sendable {
        /// Three integers separated by dots; sent in every reply.
        public var serverVersion: String
        /// The minimum version of the app that may use the server; `nil` for any.
        public var minimumIOSClientVersion: String?
        /// Maximum size of an UploadFile body, in bytes.
        public var maximumUploadBytes: Int64
        /// Limits for each user.
        public var quotas: Quotas
        /// The types of files that may be uploaded.
        public var mimeTypes: MIMETypeTable
        /// Whether new owners get a file that warns them not to modify the folder.
        public var writesWarningFile: Bool
        /// Whether owners' folders have a page that shows their contents.
        public var writesIndexPage: Bool
        /// The address by which clients reach the server, without a trailing slash; `nil` if the web server reports it.
        public var publicURL: String?
        /// Redirect URIs, apart from loopback ones, that callers may send along with an authorization code.
        public var redirectURIs: Set<String>
        /// Time limit for one request, from its arrival; each step of a transfer gets the time left when the transfer
        /// began.
        public var requestTime: Duration
        /// How long an invitation can be redeemed, in seconds.
        public var invitationLifetimeSeconds: Int64
        /// How long replaced and deleted objects are kept in storage, in seconds, for downloads in progress.
        public var replacedVersionSeconds: Int64
        /// Whether an account switch requires credentials of the account to be left, besides the device's grant.
        public var requiresOldAccountProof: Bool
        /// The periods that protect an account switch.
        public var switches: SwitchTimes
        /// Whether the jobs role moves contents out of former accounts, for people who request it.
        public var movesContents: Bool
        /// Whether clients may request to exchange bytes directly with owners' storages.
        public var allowsDirectTransfers: Bool

        public init(
            serverVersion: String, minimumIOSClientVersion: String?, maximumUploadBytes: Int64,
            quotas: Quotas, mimeTypes: MIMETypeTable, writesWarningFile: Bool, writesIndexPage: Bool = false,
            redirectURIs: Set<String> = [], requestTime: Duration = .seconds(40),
            invitationLifetimeSeconds: Int64 = 86_400, replacedVersionSeconds: Int64 = 0,
            requiresOldAccountProof: Bool = false, switches: SwitchTimes = SwitchTimes(), movesContents: Bool = false,
            allowsDirectTransfers: Bool = false, publicURL: String? = nil
        ) {
            self.serverVersion = serverVersion
            self.minimumIOSClientVersion = minimumIOSClientVersion
            self.maximumUploadBytes = maximumUploadBytes
            self.quotas = quotas
            self.mimeTypes = mimeTypes
            self.writesWarningFile = writesWarningFile
            self.writesIndexPage = writesIndexPage
            self.redirectURIs = redirectURIs
            self.requestTime = requestTime
            self.invitationLifetimeSeconds = invitationLifetimeSeconds
            self.replacedVersionSeconds = replacedVersionSeconds
            self.requiresOldAccountProof = requiresOldAccountProof
            self.switches = switches
            self.movesContents = movesContents
            self.allowsDirectTransfers = allowsDirectTransfers
            self.publicURL = publicURL
        }
    }
}

extension Services {
    /// The headers of every reply.
    var commonHeaders: [(name: String, value: String)] {
        var headers = [(name: ResponseHeader.serverVersion.rawValue, value: settings.serverVersion)]
        if let minimum = settings.minimumIOSClientVersion {
            headers.append((name: ResponseHeader.minimumIOSClientAppVersion.rawValue, value: minimum))
        }
        return headers
    }
}

/// Collects statistics of requests; called on the request's thread.
public struct RequestObserver: Sendable {
    /// A request to a known endpoint begins.
    var began: @Sendable (EndpointName) -> Void
    /// A request has ended: its endpoint, if known, in which case ``began`` was called; the status of its reply, 499 if
    /// the phone disconnected; whether it named an outdated master version; its duration.
    var ended: @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void
    /// The reply is an error with this code (docs/protocol.md, section 4.2), or there is no reply, for the reason in
    /// the log's field `code`; called before ``ended``.
    var failed: @Sendable (_ code: String) -> Void
    /// The request has committed staged changes, whether or not its reply arrived; called before ``ended``.
    var committed: @Sendable (EndpointName) -> Void

    /// The request was rejected because its user has reached a quota; called before ``ended``.
    var refused: @Sendable (Quota) -> Void
    /// The request has stored tokens without a refresh token for an account with storage; called before ``ended``.
    var lackedOfflineAccess: @Sendable () -> Void

    public init(
        began: @escaping @Sendable (EndpointName) -> Void,
        ended: @escaping @Sendable (EndpointName?, _ status: Int, _ isStale: Bool, Duration) -> Void,
        committed: @escaping @Sendable (EndpointName) -> Void,
        failed: @escaping @Sendable (_ code: String) -> Void = { _ in },
        refused: @escaping @Sendable (Quota) -> Void = { _ in },
        lackedOfflineAccess: @escaping @Sendable () -> Void = {}
    ) {
        self.began = began
        self.ended = ended
        self.committed = committed
        self.failed = failed
        self.refused = refused
        self.lackedOfflineAccess = lackedOfflineAccess
    }
}
