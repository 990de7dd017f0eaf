public import Foundation
public import SyncProtocol
import Synchronization

/// Creates and parses invitation links: `BUNDLE-ID.invitation://?code=CODE`.
public struct InvitationLink: Sendable, Hashable {
    private let scheme: String

    /// - Parameter bundleID: the app's identifier, such as `com.example.app`.
    /// - Throws: ``SignInError/Code/misconfigured`` if it is not valid in a URL scheme (RFC 3986, section 3.1).
    public init(bundleID: String) throws(SignInError) {
        let isScheme =
            bundleID.first.map { $0.isASCII && $0.isLetter } ?? false
            && bundleID.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        guard isScheme else { throw SignInError(.misconfigured, "\(bundleID) is not valid in a URL scheme") }
        scheme = bundleID + ".invitation"
    }

    /// The link for an invitation.
    public func url(for code: SharingInvitationUUID) -> URL {
        guard let url = URL(string: "\(scheme)://?" + FormText.encode([("code", code.rawValue)])) else {
            preconditionFailure("a scheme and an escaped query are a URL")
        }
        return url
    }

    /// The invitation code of a link; `nil` if the link is another app's, or has no code.
    ///
    /// The scheme is compared case-insensitively, as systems change its case; further query items are ignored: older
    /// links contain the permission after the code.
    public func code(in url: URL) -> SharingInvitationUUID? {
        let text = url.absoluteString.prefix { $0 != "#" }
        guard let colon = text.firstIndex(of: ":"), text[..<colon].lowercased() == scheme.lowercased(),
            let mark = text.firstIndex(of: "?")
        else { return nil }
        return RequestTarget("/" + text[mark...])?.single("code").flatMap { SharingInvitationUUID($0) }
    }
}

/// Keeps the invitation from a link that opened the app, until the app can ask the user about it.
///
/// The server knows the details of the invitation. A new invitation replaces one that is still waiting.
public final class InvitationInbox: Sendable {
    private struct State {
        var waiting: SharingInvitationUUID?
        var handler: (@Sendable (SharingInvitationUUID) -> Void)?
    }

    private let link: InvitationLink
    private let state = Mutex(State())

    /// - Parameter link: The app's link format.
    public init(_ link: InvitationLink) { self.link = link }

    /// Handles a URL that opened the app.
    /// - Returns: Whether the URL is an invitation; if not, other handlers may use it.
    public func open(_ url: URL) -> Bool {
        guard let code = link.code(in: url) else { return false }
        let handler = state.withLock { state in
            if state.handler == nil { state.waiting = code }
            return state.handler
        }
        handler?(code)
        return true
    }

    /// Returns the waiting invitation, and removes it.
    public func receive() -> SharingInvitationUUID? {
        state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }
    }

    /// Passes the waiting invitation, and each later one, to `handler`; with nil they wait again.
    public func deliver(to handler: (@Sendable (SharingInvitationUUID) -> Void)?) {
        let waiting = state.withLock { state in
            state.handler = handler
            guard handler != nil else { return SharingInvitationUUID?.none }
            defer { state.waiting = nil }
            return state.waiting
        }
        if let waiting { handler?(waiting) }
    }
}
