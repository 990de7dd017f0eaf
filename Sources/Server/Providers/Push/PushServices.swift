internal import Synchronization

/// The push services that the operator has set up; any of them may be missing.
public struct PushServices: Sendable {
    public var apns: APNs?
    public var fcm: FCM?
    public var sns: SNS?
    /// Services whose keys only other processes of this server have.
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

    /// Whether the server notifies through a service, possibly from another process.
    public func has(_ service: Service) -> Bool {
        switch service {
        case .apns: apns != nil || elsewhere.contains(.apns)
        case .fcm: fcm != nil || elsewhere.contains(.fcm)
        case .sns: sns != nil || elsewhere.contains(.sns)
        }
    }

    /// Whether nobody can be notified.
    public var isEmpty: Bool { apns == nil && fcm == nil && sns == nil && elsewhere.isEmpty }
}

/// The messages that a service has accepted for some device.
///
/// A service may reject an address because it is invalid, or because of what we send to all of them: the message, or
/// settings such as the app's identifier. If it accepts the same message for another device, the address is at fault.
final class AcceptedMessages: Sendable {
    /// A message's devices are notified within minutes of each other; the oldest half is given up.
    private static let maximumCount = 2_048

    private let messages = Mutex<[String]>([])

    /// - Parameter message: the event that it tells of, and the service's environment if it has several.
    func note(_ message: String) {
        messages.withLock { messages in
            guard messages.last != message else { return }
            if messages.count == Self.maximumCount { messages.removeFirst(Self.maximumCount / 2) }
            messages.append(message)
        }
    }

    /// What a rejection means that concerns the address, or else all devices.
    /// - Parameters:
    ///   - messages: as ``note(_:)`` takes them; one for each environment that rejected the message.
    ///   - detail: the service's word for it.
    func judge(_ messages: [String], rejectedWith detail: String) -> PushError {
        self.messages.withLock { $0.contains(where: messages.contains) } ? .gone(since: nil) : .doubtful(detail: detail)
    }
}
