public import AppleFoundation

@MainActor open class UIResponder {
    public init() {}
}

@MainActor public final class UIApplication: UIResponder {
    public enum State: Sendable { case active, inactive, background }
    public struct LaunchOptionsKey: Hashable, Sendable {}
    public static let shared = UIApplication()
    public static let didEnterBackgroundNotification = Notification.Name("didEnterBackground")
    public static let willEnterForegroundNotification = Notification.Name("willEnterForeground")
    public var applicationState: State { .active }
    public var connectedScenes: Set<UIScene> { [] }
}

@MainActor open class UIWindow: UIResponder {}

@MainActor open class UIScene: NSObject {
    public enum ActivationState: Sendable { case unattached, foregroundActive, foregroundInactive, background }
    public var activationState: ActivationState { .foregroundActive }
}

public final class UIWindowScene: UIScene {
    public var keyWindow: UIWindow? { nil }
}

public final class UIImage: NSObject, Sendable {
    public override init() {}
    public init?(data: Data) {}
    public init?(contentsOfFile path: String) {}
    public func jpegData(compressionQuality: CGFloat) -> Data? { nil }
    public func byPreparingThumbnail(ofSize size: CGSize) async -> UIImage? { nil }
}

@MainActor public protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    )
}

extension UIApplicationDelegate {
    public func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool { true }
    public func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {}
}
