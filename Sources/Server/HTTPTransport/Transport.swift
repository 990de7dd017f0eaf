/// Sends requests to providers; created by the composition root for each worker thread.
///
/// A value of closures, so that the domain does not depend on an HTTP library and tests can script replies. Not
/// `Sendable`: closures of tests and decorators may keep state that belongs to one thread.
public struct Transport {
    /// Receives a part of a reply's body; returning `false` ends the transfer with ``TransportError/cancelled``.
    public typealias BodyReceiver = (Span<UInt8>) -> Bool

    private let sendRequest: (OutgoingRequest, Deadline) throws(TransportError) -> Reply
    private let streamReply:
        (OutgoingRequest, Deadline, (ReplyHead) -> Bool, BodyReceiver) throws(TransportError) -> ReplyHead

    public init(
        send: @escaping (OutgoingRequest, Deadline) throws(TransportError) -> Reply,
        stream:
            @escaping (
                OutgoingRequest, Deadline, (ReplyHead) -> Bool, BodyReceiver
            ) throws(TransportError) -> ReplyHead
    ) {
        sendRequest = send
        streamReply = stream
    }

    /// Sends `request` and returns the reply, whatever its status, before `deadline`.
    public func send(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Reply {
        try sendRequest(request, deadline)
    }

    /// Sends `request` and passes on the reply's body as it arrives.
    ///
    /// The deadline applies until the head has arrived; after that the body may take any time as long as data keeps
    /// flowing.
    /// - Parameters:
    ///   - head: called once, before the body; returning `false` skips the body and ends the call normally.
    ///   - body: called for each part, in order.
    public func stream(
        _ request: OutgoingRequest, by deadline: Deadline, head: (ReplyHead) -> Bool, body: BodyReceiver
    ) throws(TransportError) -> ReplyHead {
        try streamReply(request, deadline, head, body)
    }
}
