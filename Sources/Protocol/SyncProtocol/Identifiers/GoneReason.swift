/// Why something is out of reach for good, in the words that clients know.
public enum GoneReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The owning user, or the caller's own membership, does not exist any more. In replies with status 410.
    case userRemoved
    /// The file is not in cloud storage any more. Only in the `gone` field of a DownloadFile reply with status 200.
    case fileRemovedOrRenamed
    /// The owner's cloud token does not work any more and cannot be refreshed. In 410 replies and in `gone`.
    case authTokenExpiredOrRevoked
}
