import Store
import SyncProtocol

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
