internal import FoundationEssentials

/// The sandbox's state, protected by one lock.
struct SandboxState: Sendable {
    var accounts: [String: Account] = [:]
    /// Account IDs in order of creation.
    var accountOrder: [String] = []
    /// The account ID of every access token, refresh token and authorization code.
    var owners: [String: String] = [:]
    var drives: [String: Drive] = [:]
    var uploads: [String: UploadSession] = [:]
    var oneDrives: [String: OneDrive] = [:]
    var oneDriveSessions: [String: OneDriveSession] = [:]
    var oneDriveDownloads: [String: OneDriveDownloads.Grant] = [:]
    var dropboxes: [String: DropboxFolder] = [:]
    var dropboxUploads: [String: DropboxUploadSession] = [:]
    /// For each sequential session that is receiving bytes: the requests that tried to send bytes meanwhile.
    var dropboxRivals: [String: [Violation]] = [:]
    /// Accounts whose Dropbox is being written: a namespace allows one write at a time.
    var lockedDropboxes: Set<String> = []
    /// Addresses for one upload or one download each, by their unguessable part.
    var dropboxUploadLinks: [String: DropboxTemporaryLinks.Upload] = [:]
    var dropboxDownloadLinks: [String: DropboxTemporaryLinks.Download] = [:]
    var dropboxJobs: [String: DropboxJob] = [:]
    var nextclouds: [String: NextcloudFiles] = [:]
    /// The highest `oc:fileid` so far.
    var nextcloudFileID = 0
    /// Chunked uploads, by account and folder; lost when the sandbox ends, as after a day of real time.
    var nextcloudUploads: [String: NextcloudUpload] = [:]
    /// Browser sign-ins, by the token with which the app polls.
    var nextcloudLogins: [String: NextcloudLoginFlow] = [:]
    /// When invalid passwords were tried.
    var wrongPasswords: [String: [Date]] = [:]
    /// When wrong passwords were received, by client address.
    var wrongPasswordTimes: [String: [Date]] = [:]
    /// Real servers behind hosts of the sandbox, by host; lost when the sandbox ends, like the servers themselves.
    var backends: [String: Backend] = [:]
    var faults: [FaultRule] = []
    var nextFaultNumber = 1
    var log = RequestLog()
    var violations: [Violation] = []
    var settings = SandboxSettings()
    /// Notifications accepted by the push services, oldest first.
    var pushes: [DeliveredPush] = []
    /// The scripted state of device tokens; tokens without an entry work.
    var pushTokens: [String: PushTokenScript] = [:]
    /// Phones of the web page, by account; lost when the sandbox ends.
    var phones: [String: Phone] = [:]
    /// The latest invitation made by one of them.
    var newestInvitation: String?
    /// Access tokens of the service account, with their expiry times.
    var serviceTokens: [String: Date] = [:]
    /// Issued secrets that are not stored in an account, since signed tokens are created on each request.
    var unkeptTokens: Set<String> = []

    /// Adds or replaces an account and indexes its tokens.
    mutating func put(_ account: Account) {
        if accounts.updateValue(account, forKey: account.id) == nil { accountOrder.append(account.id) }
        for token in account.accessTokens { owners[token.value] = account.id }
        for token in account.refreshTokens { owners[token.value] = account.id }
        for code in account.codes { owners[code.value] = account.id }
    }

    /// Stores a notification.
    mutating func add(_ push: DeliveredPush) {
        pushes.append(push)
        if pushes.count > DeliveredPush.capacity { pushes.removeFirst(pushes.count - DeliveredPush.capacity) }
    }

    /// The account and access token for a token's text, including expired and revoked tokens.
    func accessToken(_ value: String) -> (account: Account, token: AccessToken)? {
        guard let account = owners[value].flatMap({ accounts[$0] }),
            let token = account.accessTokens.last(where: { $0.value == value })
        else { return nil }
        return (account, token)
    }

    /// The combined effects of all fault rules that match this request, `nil` if none does; removes exhausted rules.
    mutating func faultEffect(for request: SandboxRequest) -> FaultEffect? {
        var effect: FaultEffect?
        for index in faults.indices where faults[index].strikes(request) {
            effect = effect?.adding(faults[index].effect) ?? faults[index].effect
        }
        faults.removeAll(where: \.isSpent)
        return effect
    }
}

/// Settings that can be changed while the sandbox runs; kept on disk.
struct SandboxSettings: Sendable, Equatable {
    /// How far the providers' clock is ahead of the machine's, in seconds.
    var clockOffsetSeconds = 0.0
    /// How long searches by name do not find a new or changed file, in milliseconds of the providers' clock.
    var searchLagMilliseconds = 0
    /// How long a write locks the namespace of a Dropbox, in milliseconds of this machine's clock.
    var dropboxWriteMilliseconds = 0
    /// Whether Google's errors contain the `errors` array, as they usually do.
    var hasGoogleErrorsArray = true
    /// Which hashes OneDrive reports.
    var oneDriveHashes = OneDriveHashes.quickXor
    /// How long after an upload OneDrive reports no hash, in milliseconds of the providers' clock.
    var oneDriveHashDelayMilliseconds = 0
    /// How many bytes OneDrive adds to the reported size of files.
    var oneDriveExtraBytes = 0
    /// Whether OneDrive reports the end of the range that an upload session expects.
    var areOneDriveRangesClosed = false
    /// Whether uploads fail until the app's folder has been read.
    var isOneDriveAppFolderStrict = true
    /// The number of initial requests that do not find a new upload session.
    var oneDriveSessionLag = 0
    /// Whether the Nextcloud shows everybody's files to any caller with any password; writing requires the right one.
    var hasOpenReads = false
    /// The number of wrong passwords within half an hour after which the Nextcloud server rejects all callers from the
    /// same address, as a real one does after about ten; 0 for no limit.
    var toleratedPasswords = 0
    /// How often Microsoft has changed the key that signs its ID tokens.
    var microsoftKeyGeneration = 0
    /// Redirect URIs registered with Google and Dropbox.
    var redirects = RegisteredRedirects()

    /// The settings in the control interface's JSON.
    var json: JSONValue {
        [
            "clockOffsetSeconds": .double(clockOffsetSeconds), "searchLagMs": .int(searchLagMilliseconds),
            "dropboxWriteMs": .int(dropboxWriteMilliseconds),
            "googleErrorsArray": .bool(hasGoogleErrorsArray),
            "oneDriveHashes": .string(oneDriveHashes.rawValue),
            "oneDriveHashDelayMs": .int(oneDriveHashDelayMilliseconds),
            "oneDriveExtraBytes": .int(oneDriveExtraBytes),
            "oneDriveClosedRanges": .bool(areOneDriveRangesClosed),
            "oneDriveAppFolderStrict": .bool(isOneDriveAppFolderStrict), "oneDriveSessionLag": .int(oneDriveSessionLag),
            "nextcloudOpenReads": .bool(hasOpenReads), "nextcloudToleratedPasswords": .int(toleratedPasswords),
            "microsoftKeyGeneration": .int(microsoftKeyGeneration), "redirectURIs": redirects.json,
        ]
    }

    /// Applies the members of `json`.
    mutating func merge(_ json: JSONValue) {
        if let seconds = json["clockOffsetSeconds"]?.double { clockOffsetSeconds = seconds }
        if let lag = json["searchLagMs"]?.int { searchLagMilliseconds = max(0, lag) }
        if let time = json["dropboxWriteMs"]?.int { dropboxWriteMilliseconds = max(0, time) }
        if let hasArray = json["googleErrorsArray"]?.bool { hasGoogleErrorsArray = hasArray }
        if let hashes = json["oneDriveHashes"]?.string.flatMap(OneDriveHashes.init(rawValue:)) {
            oneDriveHashes = hashes
        }
        if let delay = json["oneDriveHashDelayMs"]?.int { oneDriveHashDelayMilliseconds = max(0, delay) }
        if let bytes = json["oneDriveExtraBytes"]?.int { oneDriveExtraBytes = max(0, bytes) }
        if let isClosed = json["oneDriveClosedRanges"]?.bool { areOneDriveRangesClosed = isClosed }
        if let isStrict = json["oneDriveAppFolderStrict"]?.bool { isOneDriveAppFolderStrict = isStrict }
        if let open = json["nextcloudOpenReads"] { hasOpenReads = open.bool ?? (open.int == 1) }
        if let count = json["nextcloudToleratedPasswords"]?.int { toleratedPasswords = max(0, count) }
        if let lag = json["oneDriveSessionLag"]?.int { oneDriveSessionLag = max(0, lag) }
        if let uris = json["redirectURIs"] { redirects = RegisteredRedirects(json: uris) }
        if let generation = json["microsoftKeyGeneration"]?.int { microsoftKeyGeneration = max(0, generation) }
    }
}

/// A violation of a provider's rule by a client.
struct Violation: Encodable, Sendable {
    let time: Date
    let host: String
    let method: String
    let path: String
    /// Short name of the rule.
    let rule: String
    /// A description of the mistake, for people.
    let message: String
}

/// The newest ``capacity`` requests to the providers.
struct RequestLog: Sendable {
    static let capacity = 20_000

    /// One request and its outcome.
    struct Entry: Encodable, Sendable {
        let number: Int
        let time: Date
        let host: String
        let method: String
        let path: String
        let query: String
        let requestBytes: Int
        let status: Int
        let responseBytes: Int
        /// Whether a fault rule applied.
        let fault: Bool
    }

    /// The number of the newest entry; the first is 1.
    private(set) var last = 0
    private var entries: [Entry] = []

    /// Adds an entry with the next number.
    mutating func append(_ entry: (Int) -> Entry) {
        last += 1
        entries.append(entry(last))
        if entries.count >= Self.capacity * 2 { entries.removeFirst(entries.count - Self.capacity) }
    }

    /// The entries with higher numbers, oldest first.
    func since(_ number: Int) -> [Entry] {
        guard let first = entries.first?.number, number >= first else { return entries }
        return Array(entries.dropFirst(number - first + 1))
    }
}
