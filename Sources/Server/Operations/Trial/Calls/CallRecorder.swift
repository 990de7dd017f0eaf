import HTTPTransport
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
