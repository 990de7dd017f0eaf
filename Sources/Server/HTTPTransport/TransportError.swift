/// Why no whole reply arrived, in terms of what the caller may do.
public enum TransportError: Error, Equatable {
    /// The request was not sent: repeating it is always safe.
    case notSent
    /// The connection ended after the request, or a part of it, was sent: its effect is unknown.
    case interrupted
    /// The deadline passed, or the transfer became too slow; the effect is unknown.
    case timedOut
    /// The reply's body is larger than ``OutgoingRequest/replyLimitBytes``.
    case replyTooLarge
    /// A closure of ours ended the transfer.
    case cancelled
    /// The request was not made, to protect everybody else: the service has its share of calls already, or keeps failing.
    case withheld(WithheldCall)
    /// The server could not prove who it is, or the URL is not one we may open: a defect of the set-up.
    case refused(String)
}
