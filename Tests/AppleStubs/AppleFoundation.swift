// The parts of Foundation that exist on Apple's platforms only. scripts/check-apple imports this module alongside
// Foundation.
@_exported public import Foundation
@_exported public import FoundationNetworking

extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}

extension URLSessionConfiguration {
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration { .default }
    public var sessionSendsLaunchEvents: Bool {
        get { true }
        set {}
    }
    public var isDiscretionary: Bool {
        get { false }
        set {}
    }
    public var allowsExpensiveNetworkAccess: Bool {
        get { true }
        set {}
    }
    public var allowsConstrainedNetworkAccess: Bool {
        get { true }
        set {}
    }
    public var sharedContainerIdentifier: String? {
        get { nil }
        set {}
    }
}

extension NSData {
    public enum CompressionAlgorithm: Int, Sendable {
        case zlib = 3
    }

    public func decompressed(using algorithm: CompressionAlgorithm) throws -> Self { self }
}
