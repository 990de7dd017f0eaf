/// Whose push service a device listens to.
public enum PushNotificationKind: String, Sendable, Hashable, CaseIterable, QueryValue {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.pushNotificationKind
}

/// Which of its two worlds a token of the Apple Push Notification service is from; the other one does not know it.
public enum PushNotificationEnvironment: String, Sendable, Hashable, CaseIterable, QueryValue {
    /// Apps from the App Store and from TestFlight.
    case production
    /// Apps that a developer's machine has put on the device.
    case sandbox

    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.pushNotificationEnvironment
}
