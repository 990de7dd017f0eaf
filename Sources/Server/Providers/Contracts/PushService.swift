public import HTTPTransport
import OpenSSLCrypto
public import SyncProtocol
import Synchronization

/// A service that delivers a text to people's screens.
///
/// One call is one attempt; the caller retries it, with the same ``PushNotification/id``, if the error indicates that
/// this may help. Several threads may call it at once.
public protocol PushService: Sendable {
    /// Hands a notification over to the service, which delivers it to the device as soon as it can.
    ///
    /// - Returns: the address to store: the service may have added to it.
    /// - Throws: ``PushError``.
    func deliver(
        _ notification: PushNotification, to address: PushAddress, through client: PushClient
    ) throws(PushError) -> PushAddress
}

/// The address of a device.
public struct PushAddress: Equatable, Sendable {
    /// The device's token at the service, or the ARN of an SNS topic.
    public var token: String
    /// APNs only; `nil` while it is unknown.
    public var environment: PushNotificationEnvironment?
    /// APNs only: the app to which the token belongs; `nil` while it is unknown.
    public var topic: String?

    public init(token: String, environment: PushNotificationEnvironment? = nil, topic: String? = nil) {
        self.token = token
        self.environment = environment
        self.topic = topic
    }
}

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

/// Why a notification was not accepted, classified by what the caller can do.
///
/// `detail` is for operators' logs; it contains no token, no key, and no text written by a person.
public enum PushError: Error, Equatable, Sendable {
    /// The service no longer knows the address: delete it. `since`: the latest registration time, in seconds since
    /// 1970, for which this holds; `nil` if the service does not report one.
    case gone(since: Int64?)
    /// Rate limited: retry later, after `retryAfter` if the service specifies it.
    case rateLimited(retryAfter: Duration?)
    /// The service is failing or cannot be reached: retry later.
    case unavailable(detail: String)
    /// The service is too slow; the notification may have been accepted: retry later.
    case timedOut
    /// The service rejects the address or the message, and no other device has accepted the same message: the server's
    /// settings may be wrong. Keep the address and retry later.
    case doubtful(detail: String)
    /// The service rejects this server (keys, topic, account): the operator must investigate.
    case misconfigured(detail: String)
    /// The service rejects this notification because of a defect of ours; a retry does not help.
    case rejected(detail: String)
}

extension PushError: CustomStringConvertible {
    /// A few words for the log and for the column `last_error`.
    public var description: String {
        switch self {
        case .gone: "the device is gone"
        case .rateLimited: "rate limited"
        case .unavailable(let detail): "unavailable: \(detail)"
        case .timedOut: "timed out"
        case .doubtful(let detail): "doubtful: \(detail)"
        case .misconfigured(let detail): "misconfigured: \(detail)"
        case .rejected(let detail): "rejected: \(detail)"
        }
    }
}

extension PushError {
    /// A service's error code, if it looks like one; no other text of the service is passed on.
    static func word(_ text: String?) -> String {
        guard let text, (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
            })
        else { return "no reason" }
        return text
    }
}

/// Sends the requests of push services, within a deadline.
public struct PushClient {
    private let transport: Transport
    private let deadline: Deadline

    public init(transport: Transport, deadline: Deadline) {
        self.transport = transport
        self.deadline = deadline
    }

    /// The reply to `request`, whatever its status.
    func send(_ request: OutgoingRequest) throws(PushError) -> Reply {
        do {
            return try transport.send(request, by: deadline)
        } catch {
            switch error {
            case .notSent: throw .unavailable(detail: "no connection")
            case .interrupted: throw .unavailable(detail: "connection lost")
            case .withheld(.circuitOpen(let delay)), .withheld(.paused(let delay)):
                throw .rateLimited(retryAfter: delay)
            case .withheld(.busy): throw .unavailable(detail: "the limit of concurrent calls is reached")
            case .timedOut: throw .timedOut
            case .replyTooLarge, .cancelled: throw .unavailable(detail: "\(error)")
            case .refused(let reason): throw .misconfigured(detail: reason)
            case .forbiddenAddress: throw .misconfigured(detail: "\(error)")
            }
        }
    }
}

/// The push services that the operator has set up; any of them may be missing.
public struct PushServices: Sendable {
    public var apns: APNs?
    public var fcm: FCM?
    public var sns: SNS?
    /// Services whose keys are available only to other processes of this server.
    public var elsewhere: Set<Service> = []

    public enum Service: Sendable {
        case apns
        case fcm
        case sns
    }

    public init(apns: APNs? = nil, fcm: FCM? = nil, sns: SNS? = nil) {
        self.apns = apns
        self.fcm = fcm
        self.sns = sns
    }

    /// Whether the server sends notifications through a service, possibly from a different process.
    public func has(_ service: Service) -> Bool {
        switch service {
        case .apns: apns != nil || elsewhere.contains(.apns)
        case .fcm: fcm != nil || elsewhere.contains(.fcm)
        case .sns: sns != nil || elsewhere.contains(.sns)
        }
    }

    /// Whether no service is available.
    public var isEmpty: Bool { apns == nil && fcm == nil && sns == nil && elsewhere.isEmpty }
}

/// The messages that a service has accepted for at least one device.
///
/// A service may reject an address because it is invalid, or because of something common to all devices: the message,
/// or settings such as the app's identifier. If the service accepts the same message for another device, the address is
/// at fault.
final class AcceptedMessages: Sendable {
    /// A message's devices are notified within minutes of each other; when the list is full, the oldest half is
    /// dropped.
    private static let maximumCount = 2_048

    private let messages = Mutex<[String]>([])

    /// - Parameter message: the reported event, and the service's environment if it has several.
    func note(_ message: String) {
        messages.withLock { messages in
            guard messages.last != message else { return }
            if messages.count == Self.maximumCount { messages.removeFirst(Self.maximumCount / 2) }
            messages.append(message)
        }
    }

    /// The meaning of a rejection that concerns either the address or all devices.
    /// - Parameters:
    ///   - messages: in the format of ``note(_:)``, one for each environment that rejected the message.
    ///   - detail: the service's error code.
    func judge(_ messages: [String], rejectedWith detail: String) -> PushError {
        self.messages.withLock { $0.contains(where: messages.contains) } ? .gone(since: nil) : .doubtful(detail: detail)
    }
}

/// The text of a notification.
public enum PushText {
    /// The longest text that is stored, in bytes of UTF-8; no service accepts a longer one.
    public static let maximumBytes = 4_000
    private static let ellipsis = "…"

    /// `<sender>, <group>: <message>`; a missing name is omitted with its punctuation.
    ///
    /// - Returns: `nil` if all parts are empty.
    public static func composed(sender: String, group: String?, message: String) -> String? {
        guard !isBlank(message) else { return nil }
        let names = [sender, group ?? ""].filter { !isBlank($0) }.joined(separator: ", ")
        let text = names.isEmpty ? message : names + ": " + message
        return shortened(text) { $0.utf8.count <= maximumBytes }
    }

    /// `text`, or its longest prefix that fits, followed by an ellipsis.
    ///
    /// - Parameter fits: whether a text is short enough; if it accepts a text, it must accept every prefix of that
    ///   text.
    static func shortened(_ text: String, fits: (String) -> Bool) -> String {
        if fits(text) { return text }
        let characters = Array(text)
        // The largest number of characters that fits is between these bounds.
        var (fitting, tooMany) = (0, characters.count)
        while tooMany - fitting > 1 {
            let middle = (fitting + tooMany) / 2
            if fits(String(characters[..<middle]) + ellipsis) { fitting = middle } else { tooMany = middle }
        }
        return String(characters[..<fitting]) + ellipsis
    }

    private static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }
}
