import Providers
import Synchronization

/// Requests that waited without a thread for an answer about their token, and can now continue.
///
/// A phone with a new token opens many connections at once; the provider is asked only once, and until it answers, the
/// requests hold no threads (``SignInCache``).
final class ReadyVisits: Sendable {
    /// `@unchecked Sendable`: only the thread that takes it out uses it; the one that parked it no longer touches it.
    struct Handover: @unchecked Sendable {
        let visit: Visit
        /// The answer; `nil` if the provider was not asked.
        var result: Result<SignInProfile, AccountError>?
    }

    private let queue = Mutex<[Handover]>([])

    func append(_ handover: Handover) { queue.withLock { $0.append(handover) } }

    func next() -> Handover? { queue.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
}

extension Router {
    /// Lets `visit` wait without a thread for its sign-in, until ``endParking(of:)``.
    func allowParking(of visit: Visit) {
        let handover = ReadyVisits.Handover(visit: visit)
        visit.context.goOn = { [ready] result in
            var handover = handover
            handover.result = result
            ready.append(handover)
        }
    }

    /// From here on the visit waits with its thread, since it has work that may need to be undone.
    func endParking(of visit: Visit) { visit.context.goOn = nil }

    /// Continues requests whose callers have been identified. Each thread must call it after each request, including
    /// the thread that identified the caller.
    /// - Parameter connection: the one for the thread's next request.
    public func continueParked(onThreadOf connection: any ClientConnection) {
        while let next = ready.next() {
            let visit = next.visit
            endParking(of: visit)
            visit.context.connection.goOn(onThreadOf: connection)
            switch next.result {
            case .failure(.malformedDetails): _ = proceed(visit)  // what it means depends on the request
            case .failure(let error): refuse(visit, error)
            case .success, nil: _ = proceed(visit)
            }
        }
    }
}
