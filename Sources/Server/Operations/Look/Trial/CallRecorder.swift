import HTTPTransport
import Providers
import Synchronization

/// Records each call to a provider.
final class CallRecorder: TransportDecorator, Sendable {
    /// The limit for one step; an upload makes a few calls, a listing of a full folder many.
    private static let maximumCalls = 200

    private let recorded = Mutex<[TrialCall]>([])
    private let interruption: Interruption

    init(_ interruption: Interruption) { self.interruption = interruption }

    /// Returns and clears the calls recorded since the last call of this method.
    func take() -> [TrialCall] {
        recorded.withLock { recorded in
            defer { recorded = [] }
            return recorded
        }
    }

    /// The calls recorded so far.
    var calls: [TrialCall] { recorded.withLock { $0 } }

    /// The position of the call in the record, `nil` beyond its end.
    func begin(_ request: OutgoingRequest, by deadline: Deadline) throws(TransportError) -> Int? {
        if interruption.isEffective { throw .cancelled }
        return recorded.withLock { recorded in
            guard recorded.count < Self.maximumCalls else { return nil }
            recorded.append(TrialCall(request))
            return recorded.count - 1
        }
    }

    func replied(_ call: Int?, _ head: ReplyHead) { change(call) { $0.note(head) } }

    func ended(_ call: Int?, _ result: CallResult) {
        switch result {
        case .replied(let head, let body):
            change(call) { call in
                call.note(head)
                if let body { call.note(body) }
            }
        // The receiver of a range cancels a transfer that continues beyond it.
        case .failed(.cancelled, .some): break
        case .failed(let error, _): change(call) { $0.note(error) }
        }
    }

    private func change(_ position: Int?, _ body: (inout TrialCall) -> Void) {
        guard let position else { return }
        recorded.withLock { recorded in
            if recorded.indices.contains(position) { body(&recorded[position]) }
        }
    }
}

/// Whether the operator has asked a trial to end early.
public final class Interruption: Sendable {
    private let state = Mutex((isRequested: false, isCleaningUp: false))

    public init() {}

    /// Ends the trial: only calls that clean up are still made.
    public func request() { state.withLock { $0.isRequested = true } }

    public var isRequested: Bool { state.withLock { $0.isRequested } }

    /// Whether no further calls may be made.
    var isEffective: Bool { state.withLock { $0.isRequested && !$0.isCleaningUp } }

    func beginCleaningUp() { state.withLock { $0.isCleaningUp = true } }
}

/// Breaks a connection in the middle of a transfer, as a network failure does, once for each plan.
///
/// The transfer really ends there: the provider decides how to handle the part that it has received.
final class BrokenConnection {
    /// The next transfer to break.
    enum Plan: Equatable {
        case nothing
        /// An upload request, after `after` others, with a body of at least `atLeast` bytes that is not the whole
        /// content.
        case uploadOfPart(after: Int, atLeast: Int, ofContentOf: Int)
        /// The next download, after `after` bytes.
        case download(after: Int)
    }

    private(set) var plan = Plan.nothing
    /// Whether the transfer of the last plan was broken.
    private(set) var hasBroken = false

    func plan(_ plan: Plan) {
        self.plan = plan
        hasBroken = false
    }

    /// The same transport, with connections that break as planned.
    func around(_ transport: Transport) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                guard case .uploadOfPart(let others, let least, let whole) = self.plan,
                    request.call.operation == .upload, let body = request.body, body.count >= least, body.count < whole
                else { return try transport.send(request, by: deadline) }
                guard others == 0 else {
                    self.plan = .uploadOfPart(after: others - 1, atLeast: least, ofContentOf: whole)
                    return try transport.send(request, by: deadline)
                }
                self.strike()
                var request = request
                request.body = .arriving(HalfOfBody(body))
                do throws(TransportError) {
                    return try transport.send(request, by: deadline)
                } catch .cancelled {
                    throw .interrupted
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                guard case .download(let limit) = self.plan, request.call.operation == .download else {
                    return try transport.stream(request, by: deadline, head: head, body: body)
                }
                var isContent = false
                var received = 0
                do throws(TransportError) {
                    return try transport.stream(
                        request, by: deadline,
                        head: { reply in
                            isContent = reply.status < 300
                            return head(reply)
                        },
                        body: { bytes in
                            received += bytes.count
                            guard isContent, received > limit else { return body(bytes) }
                            self.strike()
                            _ = body(bytes.extracting(first: max(0, bytes.count - (received - limit))))
                            return false
                        })
                } catch .cancelled where self.hasBroken {
                    throw .interrupted
                }
            })
    }

    private func strike() {
        plan = .nothing
        hasBroken = true
    }
}

/// The first half of a body; then the connection breaks.
private final class HalfOfBody: ArrivingBytes {
    /// The connection is broken on purpose.
    struct Broken: Error {}

    let count: Int
    let failure: (any Error)? = nil
    // Used by one thread at a time, like every ``ArrivingBytes``.
    private let body: OutgoingBody

    init(_ body: OutgoingBody) {
        self.body = body
        count = body.count
    }

    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int {
        let rest = count / 2 - position
        guard rest > 0 else { throw Broken() }
        switch body {
        case .bytes(let bytes): return buffer.copyPrefix(of: bytes.dropFirst(position).prefix(rest))
        case .arriving(let bytes, let start):
            var part = buffer._mutatingExtracting(first: min(rest, buffer.count))
            return try bytes.read(from: start + position, into: &part)
        }
    }
}
