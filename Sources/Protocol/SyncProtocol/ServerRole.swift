/// The role of a server process.
public enum ServerRole: String, CaseIterable, Sendable {
    /// Many short requests.
    case api
    /// Uploads and downloads.
    case transfer
    /// Pending work in the clouds, notifications, housekeeping.
    case jobs
}
