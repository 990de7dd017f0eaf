/// What a process of the server does.
public enum ServerRole: String, CaseIterable, Sendable {
    /// Many short requests.
    case api
    /// Uploads and downloads.
    case transfer
    /// What must still happen in the clouds, notifications, housekeeping.
    case jobs
}
