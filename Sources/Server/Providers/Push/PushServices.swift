internal import Synchronization

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
