import Foundation

/// A running stack from the tests' point of view: the server behind nginx, and the emulated providers.
public struct TestServer: Sendable {
    /// The server's address for plain HTTP.
    public let address: HTTPAddress
    /// The server's URL for TLS, for tests that require it.
    public let secureURL: String
    /// The certificate authority of the stack's own certificates.
    public let certificateAuthorityFile: String
    /// The emulated providers.
    public private(set) var sandbox: SandboxControl
    /// The stack's other settings.
    public private(set) var environment: StackEnvironment
    /// The stack, if this process started it.
    public let stack: PrivateStack?

    private static let sharedResult = Result { () throws -> TestServer in
        let settings = ProcessInfo.processInfo.environment
        if settings["SYNC_URL"] != nil { return try TestServer(StackEnvironment(settings: settings), stack: nil) }
        return try TestServer(PrivateStack("shared"))
    }

    private static let faultyResult = Result { try TestServer(PrivateStack("faults")) }
    private static let configuredResult = Result {
        try TestServer(PrivateStack("configured", responders: 1, overrides: overrides, heartbeatSeconds: 1))
    }
    private static let overrides = """
        {
            "allowedSignInTypes": {"Google": true}, "iOSMinimumClientVersion": "19.3.0",
            "maxNumberDeviceUUIDPerUser": 2, "maximumUploadBytes": 1000000, "signInTokenTimeToLive": 2,
            "transferThreads": 4, "transferGraceTime": 2, "requireOldAccountProof": true, "apns": {}, "fcm": {}
        }
        """
    private static let narrowResult = Result {
        try TestServer(
            PrivateStack(
                "narrow", responders: 8, overrides: #"{"transferThreads": 1, "allowDropboxBareTokens": false}"#))
    }
    private static let namesResult = Result {
        try TestServer(PrivateStack("names", responders: 1, resolvesNames: true))
    }
    private static let strangersResult = Result {
        try TestServer(PrivateStack("strangers", responders: 1, overrides: #"{"failedSignInsPerMinute": 6}"#))
    }
    /// No clock is behind, since a certificate that is valid from today on must be valid for all roles.
    private static let clocksResult = Result {
        try TestServer(
            PrivateStack("clocks", responders: 1, clocks: ["api": "+30m", "transfer": "+5h", "jobs": "+2h"]))
    }
    private static let namedServersResult = Result {
        try TestServer(
            PrivateStack(
                "named", responders: 1,
                overrides: #"{"allowedSignInTypes": {"Google": true, "S3": true}, "s3": {"anyPublicServer": true}}"#))
    }
    private static let hangingResult = Result { try TestServer(PrivateStack("hanging", responders: 1)) }
    private static let conversationResult = Result {
        try TestServer(PrivateStack("conversation", responders: 3, overrides: #"{"directTransfers": true}"#))
    }
    private static let largeResult = Result {
        try TestServer(
            PrivateStack(
                "gigabytes",
                overrides: """
                    {
                        "allowedSignInTypes": {
                            "Google": true, "Microsoft": true, "Dropbox": true, "WebDAV": true, "S3": true
                        },
                        "s3": {"endpoints": ["https://rclone.sandbox.test"]}
                    }
                    """))
    }
    private static let fragileResult = Result { try TestServer(PrivateStack("resilience", responders: 3)) }

    /// The stack that most tests share: the one in the environment, otherwise one that the first call starts.
    public static func shared() throws -> TestServer { try sharedResult.get() }

    /// A second stack, for tests that make the providers fail. They run one at a time.
    public static func withFaults() throws -> TestServer { try faultyResult.get() }

    /// A small stack whose configuration differs from the usual one in many ways.
    public static func configuredDifferently() throws -> TestServer { try configuredResult.get() }

    /// A stack with eight single-threaded processes of the transfer role, so that simultaneous requests run in separate
    /// processes; Dropbox users need a code. Its tests run one at a time.
    public static func ofNarrowProcesses() throws -> TestServer { try narrowResult.get() }

    /// A stack whose server looks up the providers' names at the stack's own name server; requires root. Its tests run
    /// one at a time.
    public static func withNames() throws -> TestServer { try namesResult.get() }

    /// A stack with one process per role and a low limit for failed sign-ins.
    public static func ofStrangers() throws -> TestServer { try strangersResult.get() }

    /// A stack whose users may specify any public S3 server. Its tests run one at a time.
    public static func withNamedServers() throws -> TestServer { try namedServersResult.get() }

    /// A stack with one process per role whose providers hang. It is separate since its processes remember the
    /// failures.
    public static func withHangingProvider() throws -> TestServer { try hangingResult.get() }

    /// A third stack, for tests that stop and kill its processes. Its tests run one at a time.
    public static func toBreak() throws -> TestServer { try fragileResult.get() }

    /// A stack whose roles have wall clocks that differ by hours.
    public static func withWrongClocks() throws -> TestServer { try clocksResult.get() }

    /// A stack only for the randomised test, which may break anything.
    public static func toConverse() throws -> TestServer { try conversationResult.get() }

    /// A stack for the tests that transfer gigabytes. They run one at a time.
    public static func forGigabytes() throws -> TestServer { try largeResult.get() }

    /// Describes a stack that this process started.
    public init(_ stack: PrivateStack) throws { try self.init(stack.environment(), stack: stack) }

    /// The current processes of one part; see ``StackEnvironment/processes(_:)``.
    public func processes(_ part: String) throws -> [StackProcess] {
        try (stack?.environment() ?? environment).processes(part)
    }

    /// Whether `syncd` is a debugging build, according to the folder of its program.
    public func isDebuggingBuild() throws -> Bool {
        let program = try processes("syncd_api").first?.executable() ?? ""
        return program.split(separator: "/").contains("debug")
    }

    /// Returns the server with the clouds and database of another stack, which its configuration must name.
    public func withCloudsAndDatabase(of other: TestServer) -> TestServer {
        var copy = self
        copy.sandbox = other.sandbox
        let common = other.environment.settings.filter { $0.key.hasPrefix("DB_") }
        copy.environment = StackEnvironment(settings: environment.settings.merging(common) { $1 })
        return copy
    }

    private init(_ environment: StackEnvironment, stack: PrivateStack?) throws {
        address = try HTTPAddress(environment.value("SYNC_HTTP_URL"))
        secureURL = try environment.value("SYNC_URL")
        certificateAuthorityFile = try environment.value("CA_FILE")
        sandbox = SandboxControl(address: try HTTPAddress(environment.value("SANDBOX_URL")))
        self.environment = environment
        self.stack = stack
    }

    /// Makes a request without credentials, unless `headers` contains some.
    public func call(
        _ method: String, _ endpoint: String, _ parameters: [String: String?] = [:],
        headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) throws -> HTTPReply {
        try address.perform(
            HTTPCall(method, "/\(endpoint)/\(ClientQuery.text(parameters))", headers: headers, body: body))
    }

    /// The server's time in wire format, which sorts as text.
    public func clock() throws -> String {
        let reply = try call("GET", "HealthCheck")
        guard reply.status == 200, let text = reply.json?.currentServerDateTime?.text else {
            throw UnexpectedReply("HealthCheck", reply)
        }
        return text
    }

    /// Creates a person with an account at that provider who is not a user yet; `group` is a new UUID.
    public func newcomer(
        _ provider: SandboxProvider = .google, name: String = "New Person", folder: String = "Sync Tests",
        quotaBytes: Int? = nil, tokenType: String? = nil, sendsIDToken: Bool = true,
        oneDrive: String? = nil
    ) throws -> TestUser {
        let account = try sandbox.createAccount(
            provider, name: name, quotaBytes: quotaBytes, tokenType: tokenType, sendsIDToken: sendsIDToken,
            oneDrive: oneDrive)
        return TestUser(server: self, account: account, userID: 0, group: UUID().uuidString, folder: folder)
    }

    /// Creates a person with that account who has not signed up.
    public func newcomer(with account: SandboxAccount) -> TestUser {
        TestUser(server: self, account: account, userID: 0, group: UUID().uuidString, folder: "")
    }

    /// Signs up the owner of an account with storage, with a new group.
    public func signUp(_ account: SandboxAccount) throws -> TestUser {
        var user = newcomer(with: account)
        let reply = try user.call("POST", "AddUser", ["sharingGroupUUID": user.group])
        guard reply.status == 200, let userID = reply.json?.userId?.integer else {
            throw UnexpectedReply("AddUser", reply)
        }
        user.userID = userID
        return user
    }

    public func signUpOwningUser(
        _ provider: SandboxProvider = .google, name: String = "Alice Example", folder: String = "Sync Tests",
        groupName: String? = nil,
        quotaBytes: Int? = nil
    ) throws -> TestUser {
        var user = try newcomer(provider, name: name, folder: folder, quotaBytes: quotaBytes)
        let reply = try user.call(
            "POST", "AddUser",
            [
                "sharingGroupUUID": user.group, "sharingGroupName": groupName,
                "cloudFolderName": provider == .google || provider == .webdav ? folder : nil,
            ])
        guard reply.status == 200, let userID = reply.json?.userId?.integer else {
            throw UnexpectedReply("AddUser", reply)
        }
        user.userID = userID
        return user
    }

    /// Signs up a user for a test that is about to make Google fail: waits for the upload by the jobs role that follows
    /// the sign-up, so that it meets no fault and renews no access token instead of the test's own requests.
    public func signUpSettledUser(quotaBytes: Int? = nil) async throws -> TestUser {
        let user = try signUpOwningUser(quotaBytes: quotaBytes)
        try await eventually("the warning file is stored") { try !sandbox.files(of: user.account).isEmpty }
        return user
    }

    /// Creates an account at that provider and redeems `invitation` with it as a new user.
    public func signUpInvitedUser(
        _ invitation: String, provider: SandboxProvider = .facebook, name: String = "Bob Example",
        folder: String = "Sync Tests"
    ) throws -> TestUser {
        var user = try newcomer(provider, name: name, folder: folder)
        let reply = try user.redeem(invitation)
        guard reply.status == 200, let userID = reply.json?.userId?.integer,
            let group = reply.json?.sharingGroupUUID?.text
        else { throw UnexpectedReply("RedeemSharingInvitation", reply) }
        user.userID = userID
        user.group = group
        return user
    }
}
