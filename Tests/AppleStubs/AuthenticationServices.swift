public import AppleFoundation
public import Synchronization
public import UIKit

public typealias ASPresentationAnchor = UIWindow

@MainActor public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

public struct ASWebAuthenticationSessionError: Error {
    public enum Code: Int, Sendable {
        case canceledLogin = 1
        case presentationContextNotProvided
        case presentationContextInvalid
    }

    public let code: Code
    public init(_ code: Code) { self.code = code }
}

/// Ends as soon as it starts, as ``outcome`` says.
open class ASWebAuthenticationSession: NSObject {
    public typealias CompletionHandler = (URL?, (any Error)?) -> Void

    public final class Callback: NSObject, Sendable {
        public let text: String
        private init(_ text: String) { self.text = text }
        public static func customScheme(_ customScheme: String) -> Callback { Callback(customScheme + ":") }
        public static func https(host: String, path: String) -> Callback { Callback("https://" + host + path) }
    }

    public let url: URL
    public let callback: Callback
    private let completionHandler: CompletionHandler
    public weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    public var prefersEphemeralWebBrowserSession = false

    public init(url: URL, callback: Callback, completionHandler: @escaping CompletionHandler) {
        self.url = url
        self.callback = callback
        self.completionHandler = completionHandler
    }

    /// The sessions that have started.
    public static let started = Mutex<[String]>([])
    /// Whether the next one starts.
    public static let starts = Mutex(true)
    /// How the next one ends; nil: only by ``cancel()``.
    public static let outcome = Mutex<Result<URL, any Error>?>(nil)

    open func start() -> Bool {
        guard Self.starts.withLock({ $0 }) else { return false }
        Self.started.withLock { $0.append("\(callback.text) \(prefersEphemeralWebBrowserSession)") }
        switch Self.outcome.withLock({ $0 }) {
        case .success(let url)?: completionHandler(url, nil)
        case .failure(let error)?: completionHandler(nil, error)
        case nil: break
        }
        return true
    }

    open func cancel() { completionHandler(nil, ASWebAuthenticationSessionError(.canceledLogin)) }
}
