/// One concern around every call of a transport: metrics, pacing, a bulkhead, a circuit breaker, a log line.
///
/// Decorators do not know of each other. Their order is defined once, where the transport is assembled
/// (docs/architecture.md, "Calls to providers").
public protocol TransportDecorator: Sendable {
    /// What the decorator remembers of a call while it is in progress.
    associatedtype Call

    /// Runs before a call, and may wait until the deadline.
    /// - Throws: ``TransportError/withheld(_:)`` if the call must not be made.
    func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Call

    /// Runs when the head of the reply has arrived. The body of a streamed reply is still to come, and may take as long
    /// as a phone needs.
    func replied(_ call: Call, _ head: ReplyHead)

    /// Runs once at the end of each call that has begun.
    func ended(_ call: Call, _ result: CallResult)
}

extension TransportDecorator {
    public func replied(_ call: Call, _ head: ReplyHead) {}
    public func ended(_ call: Call, _ result: CallResult) {}
}

/// How a call ended.
public enum CallResult: Sendable {
    /// The reply is complete.
    /// - Parameter body: `nil` if it was streamed.
    case replied(ReplyHead, body: [UInt8]?)
    /// There is no reply, or only a part of it.
    case failed(TransportError, head: ReplyHead?)

    /// Whether the call was not made. A withheld early call is irrelevant, since the same call follows.
    public var isWithheld: Bool {
        if case .failed(.withheld, head: _) = self { return true }
        return false
    }
}

extension Transport {
    /// The same transport inside all `decorators`; the first is the outermost, and sees a call first and its end last.
    public func decorated(by decorators: [any TransportDecorator]) -> Transport {
        decorators.reversed().reduce(self) { $0.decorated(by: $1) }
    }

    /// The same transport inside `decorator`.
    public func decorated(by decorator: some TransportDecorator) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                let call = try decorator.begin(request, by: deadline)
                do throws(TransportError) {
                    let reply = try send(request, by: deadline)
                    decorator.replied(call, reply.head)
                    decorator.ended(call, .replied(reply.head, body: reply.body))
                    return reply
                } catch {
                    decorator.ended(call, .failed(error, head: nil))
                    throw error
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                let call = try decorator.begin(request, by: deadline)
                var arrived: ReplyHead?
                do throws(TransportError) {
                    let reply = try stream(
                        request, by: deadline,
                        head: { reply in
                            arrived = reply
                            decorator.replied(call, reply)
                            return head(reply)
                        }, body: body)
                    decorator.ended(call, .replied(reply, body: nil))
                    return reply
                } catch {
                    decorator.ended(call, .failed(error, head: arrived))
                    throw error
                }
            })
    }
}
