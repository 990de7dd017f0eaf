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
