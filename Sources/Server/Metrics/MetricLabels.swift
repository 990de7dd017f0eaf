import SyncProtocol

/// The role of a process.
public enum ProcessRole: String, Sendable, CaseIterable {
    case api
    case transfer
    case jobs
}

/// The direction of a file's bytes, from a phone's point of view.
public enum TransferDirection: String, Sendable, CaseIterable {
    case upload
    case download
}

/// The outcome of a request that names a master version.
enum VersionOutcome: String, Sendable, CaseIterable {
    /// The version was current, or the request named none.
    case accepted
    /// Somebody else was faster; nothing was done.
    case stale
}

/// The outcome for a file that the server was to move to its owner's new account.
public enum MoveOutcome: String, Sendable, CaseIterable {
    case moved
    /// Somebody else was faster.
    case superseded
    /// The phones must upload it.
    case failed
    case postponed
}

/// The codes that errors are counted under.
enum CountedError {
    /// The protocol's codes, the log's codes for requests that end without a reply, and one for all others.
    static let words = ErrorCode.allCases.map(\.rawValue) + ["client_gone", "reply_interrupted", "other"]
    static let positions = Dictionary(uniqueKeysWithValues: words.enumerated().map { ($1, $0) })
}

/// The statuses that requests are counted under; any other is `other`.
enum CountedStatus {
    static let all = [
        200, 304, 400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 422, 429, 499, 500, 502, 503, 504, 507,
    ]
    static let words = all.map(String.init) + ["other"]

    /// The position among ``words``.
    static func position(of status: Int) -> Int { all.firstIndex(of: status) ?? all.count }
}
