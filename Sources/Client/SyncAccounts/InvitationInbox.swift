public import Foundation
public import SyncProtocol
import Synchronization

/// Keeps the invitation of a link that the app was opened with, until the app can ask the person about it.
///
/// What the invitation offers, the server tells. One that comes while another waits takes its place.
public final class InvitationInbox: Sendable {
    private struct State {
        var waiting: SharingInvitationUUID?
        var handler: (@Sendable (SharingInvitationUUID) -> Void)?
    }

    private let link: InvitationLink
    private let state = Mutex(State())

    /// - Parameter link: Of the app.
    public init(_ link: InvitationLink) { self.link = link }

    /// Takes a URL that the app was opened with.
    /// - Returns: Whether it is an invitation; if not, somebody else may want it.
    public func open(_ url: URL) -> Bool {
        guard let code = link.code(in: url) else { return false }
        let handler = state.withLock { state in
            if state.handler == nil { state.waiting = code }
            return state.handler
        }
        handler?(code)
        return true
    }

    /// The invitation that waits, once.
    public func receive() -> SharingInvitationUUID? {
        state.withLock { state in
            defer { state.waiting = nil }
            return state.waiting
        }
    }

    /// Hands the invitation that waits, and each further one, to `handler`; nil lets them wait again.
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
