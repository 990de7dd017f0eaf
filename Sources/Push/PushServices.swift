/// The push services that the operator has set up; any of them may be missing.
public struct PushServices: Sendable {
    public var apns: APNs?
    public var fcm: FCM?
    public var sns: SNS?

    public init(apns: APNs? = nil, fcm: FCM? = nil, sns: SNS? = nil) {
        self.apns = apns
        self.fcm = fcm
        self.sns = sns
    }

    /// Whether nobody can be notified.
    public var isEmpty: Bool { apns == nil && fcm == nil && sns == nil }
}
