public import Foundation
public import SyncProtocol
import Synchronization

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
