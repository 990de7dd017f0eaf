internal import OpenSSLCrypto

/// A notification that a device displays.
public struct PushNotification: Equatable, Sendable {
    /// A UUID in lower case; every attempt has the same one, so that a device that receives the notification twice
    /// shows it once.
    public var id: String
    /// Identifies the reported event. Notifications of one event to several devices share it.
    public var event: String
    public var text: String
    /// How long a service may keep it for a device that is off, in seconds since 1970.
    public var expiresAt: Int64

    /// - Parameter origin: distinguishes this notification from every other one; never displayed.
    public init(origin: String, event: String, text: String, expiresAt: Int64) {
        id = Self.uuid(from: IncrementalDigest.digest(of: Array(origin.utf8), .sha256))
        self.event = event
        self.text = text
        self.expiresAt = expiresAt
    }

    /// A UUID derived from a hash (RFC 9562, section 5.8).
    private static func uuid(from hash: [UInt8]) -> String {
        var bytes = Array(hash.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexLowercase)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}
