import Providers
import Store
import SyncProtocol
import Synchronization

/// One request between its arrival and the end of its reply; used by one thread at a time.
final class Visit {
    /// The outcome of a request, for the log.
    struct Outcome {
        var endpoint: EndpointName?
        var status = 200
        var code: String?
        var isStale = false
        var bytesSent: Int64 = 0
    }

    let context: RequestContext
    let started = ContinuousClock.now
    let network: ClientNetwork
    /// Whether the request has its own line in the log; `nil` if that has not been decided.
    var isLogged: Bool?
    var outcome = Outcome()
    /// Whether the web server only asks whether the request may begin.
    let isAdmission: Bool
    /// Whether statistics have counted it as begun.
    var hasBegun = false
    /// The work left to do once the caller is known; or a closure that throws the error.
    var work: Work

    /// The endpoint's own work, and how its reply is sent.
    struct Work {
        var route: EndpointRoute?
        var run: () throws -> EndpointReply
    }

    init(_ context: RequestContext, isAdmission: Bool = false) {
        self.context = context
        self.isAdmission = isAdmission
        network = ClientNetwork(address: context.head.clientAddress)
        work = Work { preconditionFailure("a visit is prepared before it is finished") }
    }

    /// The user of the request, if it got that far.
    var user: UserID? { work.route == nil ? nil : context.userID }

    /// Makes the request end with this error.
    func refuse(_ error: any Error) { work = Work { throw error } }
}

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
