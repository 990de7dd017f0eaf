import Store
import SyncProtocol

/// One request between its arrival and the end of its reply; used by one thread at a time.
final class Visit {
    /// What is logged about a request.
    struct Outcome {
        var endpoint: EndpointName?
        var status = 200
        var code: String?
        var isStale = false
        var bytesSent: Int64 = 0
    }

    let context: RequestContext
    let started = ContinuousClock.now
    var outcome = Outcome()
    /// The work left to do once the caller is known; or a closure that throws the error.
    var work: Work

    /// The endpoint's own work, and how its reply is sent.
    struct Work {
        var route: EndpointRoute?
        var run: () throws -> EndpointReply
    }

    init(_ context: RequestContext) {
        self.context = context
        work = Work { preconditionFailure("a visit is prepared before it is finished") }
    }

    /// The user of the request, if it got that far.
    var user: UserID? { work.route == nil ? nil : context.userID }

    /// Makes the request end with this error.
    func refuse(_ error: any Error) { work = Work { throw error } }
}
