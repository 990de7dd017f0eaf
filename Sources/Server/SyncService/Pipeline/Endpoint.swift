public import HTTPTransport
import Providers
import SyncProtocol

/// One endpoint of the protocol.
///
/// Each endpoint documents why a duplicate request does no harm.
protocol Endpoint {
    associatedtype Request: RequestMessage where Request.Access: ServedAccess
    /// The caller, as the protocol's table requires it.
    typealias Caller = Request.Access.Caller

    /// An endpoint has no state: each request gets its own instance.
    init()

    /// Performs the request.
    /// - Throws: any error; ``Refusal`` turns it into a reply.
    func respond(to request: Request, from caller: Caller, in context: RequestContext) throws -> EndpointReply
}

/// A message with its endpoint; the router finds the endpoint by the message that the protocol's table names.
protocol ServedRequest: RequestMessage where Access: ServedAccess {
    associatedtype Handler: Endpoint where Handler.Request == Self
}

extension ServedRequest {
    typealias Caller = Access.Caller

    /// Checks a request in the order that determines which of several errors is reported: token, parameters, user.
    /// - Parameter route: the endpoint's row of the table.
    static func receive(
        at route: EndpointRoute, in context: RequestContext
    ) throws -> (person: Access.Person, request: Self, caller: Caller) {
        let person = try Access.person(asking: context)
        let request = try Self(query: context.head.query)
        return (person, request, try Access.caller(person, at: route, in: context))
    }

    /// Checks a request, and returns the remaining work.
    static func check(at route: EndpointRoute, in context: RequestContext) throws -> () throws -> EndpointReply {
        let (_, request, caller) = try receive(at: route, in: context)
        try DebuggingAids.failIfAsked(by: context.head)
        return { try Handler().respond(to: request, from: caller, in: context) }
    }
}

/// How the server authenticates the caller, for each kind of access in the protocol's table.
///
/// It takes two steps, and the request's parameters are checked in between: that order determines which of several
/// errors is reported.
protocol ServedAccess: EndpointAccess {
    /// The person who presents credentials.
    associatedtype Person
    /// The caller that an endpoint gets.
    associatedtype Caller

    /// - Throws: ``Refusal``, ``AccountError``, ``StoreError``.
    static func person(asking context: RequestContext) throws -> Person
    /// - Parameter route: the endpoint's row of the table.
    /// - Throws: ``Refusal``, ``StoreError``.
    static func caller(_ person: Person, at route: EndpointRoute, in context: RequestContext) throws -> Caller
}

extension AnyoneAccess: ServedAccess {
    static func person(asking context: RequestContext) -> Anyone { Anyone() }
    static func caller(_ person: Anyone, at route: EndpointRoute, in context: RequestContext) -> Anyone { person }
}

extension SignedInAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) -> SignedInPerson { person }
}

extension UserAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) throws -> SignedInUser { try context.user(person, at: route) }
}

extension MemberAccess: ServedAccess {
    static func person(asking context: RequestContext) throws -> SignedInPerson { try context.signIn() }
    static func caller(
        _ person: SignedInPerson, at route: EndpointRoute, in context: RequestContext
    ) throws -> GroupCaller { GroupCaller(try context.user(person, at: route), route.groupAccess) }
}

/// An endpoint whose requests are checked before their body is requested.
protocol TransferEndpoint: Endpoint where Request.Access == MemberAccess {
    /// Checks everything that can be checked without the body, to reject early; the transfer itself checks again.
    func admit(_ request: Request, from caller: GroupCaller, in context: RequestContext) throws
}

/// A message whose endpoint transfers a file.
protocol AdmittedRequest: ServedRequest where Handler: TransferEndpoint {}

extension AdmittedRequest {
    /// - Returns: the proof of the sign-in for the other role, if any.
    fileprivate static func admit(at route: EndpointRoute, in context: RequestContext) throws -> String? {
        let (person, request, caller) = try receive(at: route, in: context)
        try Handler().admit(request, from: caller, in: context)
        return context.signInTicket(for: person)
    }
}

extension Router {
    /// Answers the web server's subrequest on whether a transfer may begin; it contains the whole request except the
    /// body.
    ///
    /// 204: yes. The header `syncd-signed-in` identifies the caller to the role that gets the transfer
    /// (``SignInTickets``). 403: no. The headers contain the reply for the phone, including its status, form and text;
    /// nginx/syncd-admission.conf passes them on.
    @discardableResult
    public func admit(_ head: RequestHead, on connection: any ClientConnection, transport: Transport) -> Handling {
        proceed(visit(head, on: connection, transport: transport, isAdmission: true))
    }

    func answerAdmission(_ visit: Visit) -> Handling {
        let outcome: Result<String?, any Error>
        allowParking(of: visit)
        do { outcome = .success(try admit(visit)) } catch is SignInCache.Parked { return .waits } catch {
            outcome = .failure(error)
        }
        endParking(of: visit)
        answerAdmission(visit, outcome)
        return .answered
    }

    func answerAdmission(_ visit: Visit, _ error: any Error) { answerAdmission(visit, .failure(error)) }

    private func answerAdmission(_ visit: Visit, _ outcome: Result<String?, any Error>) {
        let connection = visit.context.connection
        do {
            do {
                let ticket = try outcome.get()
                let headers = ticket.map { [(name: "syncd-signed-in", value: $0)] } ?? []
                try connection.start(status: 204, headers: headers)
            } catch let gone as ClientGone {
                throw gone
            } catch {
                let reply = refusal(of: visit, error)
                try connection.start(status: 403, headers: Self.wrapped(reply))
                reportEarlyEnd(of: visit)
            }
            connection.finish()
        } catch {
            connection.abandon()
        }
    }

    /// Whether a transfer may begin without asking the api role: this process also knows the caller, and performs the
    /// other checks of that role itself.
    func servesUnasked(_ context: RequestContext) -> Bool {
        maintenanceText == nil && context.remembersSignIn
    }

    /// Makes the web server ask the api role and then repeat the request.
    ///
    /// The repeated request is counted and logged, not this one.
    func passOn(_ connection: any ClientConnection, to location: String) {
        do {
            try connection.start(status: 200, headers: [(name: "x-accel-redirect", value: location)])
            connection.finish()
        } catch {
            connection.abandon()
        }
    }

    /// - Returns: the proof of the sign-in for the other role, if any.
    private func admit(_ visit: Visit) throws -> String? {
        let context = visit.context
        let route = try route(context.head)
        visit.outcome.endpoint = route.endpoint
        try requireOpen(for: route.endpoint)
        guard let message = route.message as? any AdmittedRequest.Type else { throw Refusal(.endpointUnknown) }
        return try message.admit(at: route, in: context)
    }

    /// The reply's parts as headers of another reply.
    private static func wrapped(_ reply: ErrorReply) -> [(name: String, value: String)] {
        reply.headers.filter { $0.name != "content-type" } + [
            (name: "syncd-refusal-status", value: "\(reply.status)"),
            (name: "syncd-refusal-form", value: reply.isProblem ? "problem" : "json"),
            (name: "syncd-refusal-body", value: String(decoding: reply.body, as: UTF8.self)),
        ]
    }
}
