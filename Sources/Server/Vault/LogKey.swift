public import Logging

/// The keys of structured log lines, defined once so that each has a single spelling.
public enum LogKey: String, Sendable {
    case requestID = "request_id"
    case endpoint
    case status
    case code
    case durationMilliseconds = "duration_ms"
    case userID = "user_id"
    case owningUserID = "owning_user_id"
    case storageType = "storage_type"
    case sharingGroup = "sharing_group"
    case bytesReceived = "bytes_received"
    case bytesSent = "bytes_sent"
    case reason
    case outboxID = "outbox_id"
    case count
    case clientNetwork = "client_network"
    case seconds
    case method
    case providerHost = "provider_host"
    case providerCode = "provider_code"
    case role
    case version
}

extension Logger.Metadata {
    /// Metadata with the keys of ``LogKey``.
    public static func keyed(_ pairs: [LogKey: Logger.MetadataValue]) -> Logger.Metadata {
        Logger.Metadata(uniqueKeysWithValues: pairs.map { ($0.key.rawValue, $0.value) })
    }
}
