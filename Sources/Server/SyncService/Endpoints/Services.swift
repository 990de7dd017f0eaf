public import Providers
public import Store
public import SyncProtocol
public import Vault

/// What all requests share; made once by the composition root.
public struct Services: Sendable {
    public var store: Store
    public var storage: StorageRegistry
    /// How people are notified.
    public var push: PushServices
    public var signInCache: SignInCache
    public var failedSignIns: FailedSignIns
    public var settings: Settings
    public var partBudget: PartBudget
    /// The present, as the database's clock has it; goes on during a request, unlike ``RequestContext/now``.
    public var now: @Sendable () -> WireDate
    public var uptime: @Sendable () -> Duration
    /// A random UUID, in upper case.
    public var makeUUID: @Sendable () throws -> String
    public var background: Background
    /// Carries sign-ins from the role that admits a transfer to the one that moves it; `nil` if none do.
    public var signInTickets: SignInTickets?
    /// What bounds the requests of one user that run at once; `nil` for no bound.
    public var requestTurns: RequestTurns?
    /// What bounds the transfers of one user and of one direction; `nil` for no bound.
    public var transferLimit: TransferLimit?

    public init(
        store: Store, storage: StorageRegistry, push: PushServices = PushServices(), signInCache: SignInCache,
        failedSignIns: FailedSignIns, settings: Settings, partBudget: PartBudget,
        now: @escaping @Sendable () -> WireDate, uptime: @escaping @Sendable () -> Duration,
        makeUUID: @escaping @Sendable () throws -> String, background: @escaping Background,
        signInTickets: SignInTickets? = nil, requestTurns: RequestTurns? = nil, transferLimit: TransferLimit? = nil
    ) {
        self.store = store
        self.storage = storage
        self.push = push
        self.signInCache = signInCache
        self.failedSignIns = failedSignIns
        self.settings = settings
        self.partBudget = partBudget
        self.now = now
        self.uptime = uptime
        self.makeUUID = makeUUID
        self.background = background
        self.signInTickets = signInTickets
        self.requestTurns = requestTurns
        self.transferLimit = transferLimit
    }

    /// Runs a closure on a thread of its own, at once; throws if there is no room for another thread.
    public typealias Background = @Sendable (@escaping @Sendable () -> Void) throws -> Void

    /// What the operator decides.
    public struct Settings: Sendable {
        /// Three integers with dots; goes into every reply.
        public var serverVersion: String
        /// The oldest app that may use the server; `nil` for any.
        public var minimumIOSClientVersion: String?
        /// Largest body of UploadFile, in bytes.
        public var maximumUploadBytes: Int64
        /// What each user may have and do.
        public var quotas: Quotas
        public var mimeTypes: MIMETypeTable
        /// Whether new owners get a file that warns them not to touch the folder.
        public var writesWarningFile: Bool
        /// Redirect URIs, apart from loopback ones, that callers may name along with an authorization code.
        public var redirectURIs: Set<String>
        /// Time for one request, from its last byte on.
        public var requestTime: Duration
        /// How long an invitation can be redeemed, in seconds.
        public var invitationLifetimeSeconds: Int64

        public init(
            serverVersion: String, minimumIOSClientVersion: String?, maximumUploadBytes: Int64,
            quotas: Quotas, mimeTypes: MIMETypeTable, writesWarningFile: Bool, redirectURIs: Set<String> = [],
            requestTime: Duration = .seconds(40), invitationLifetimeSeconds: Int64 = 86_400
        ) {
            self.serverVersion = serverVersion
            self.minimumIOSClientVersion = minimumIOSClientVersion
            self.maximumUploadBytes = maximumUploadBytes
            self.quotas = quotas
            self.mimeTypes = mimeTypes
            self.writesWarningFile = writesWarningFile
            self.redirectURIs = redirectURIs
            self.requestTime = requestTime
            self.invitationLifetimeSeconds = invitationLifetimeSeconds
        }
    }
}
