public import HTTPTransport
import SyncProtocol

/// What a transfer must satisfy before its body is asked for.
protocol TransferEndpoint: Endpoint where Request.Access == MemberAccess {
    /// Checks what can be checked without the body, for an early refusal only: the transfer itself checks again.
    func admit(_ request: Request, from caller: GroupCaller, in context: RequestContext) throws
}

extension Router {
    /// Answers the web server's question whether a transfer may begin, which comes with all of its request but the body.
    ///
    /// 204: yes. The header `syncd-signed-in` tells the role that gets the transfer who asks (``SignInTickets``).
    /// 403: no. The headers hold the reply that the phone shall get, its status, form and text among them; see
    /// nginx/syncd-admission.conf, which passes them on.
    public func admit(_ head: RequestHead, on connection: any ClientConnection, transport: Transport) {
        let visit = visit(head, on: connection, transport: transport)
        do {
            do {
                let ticket = try admit(visit)
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

    /// - Returns: what proves the sign-in to the other role, if anything does.
    private func admit(_ visit: Visit) throws -> String? {
        let context = visit.context
        let route = try route(context.head)
        visit.outcome.endpoint = route.endpoint
        return switch route.endpoint {
        case .uploadFile: try admit(UploadFileEndpoint(), route, context)
        case .downloadFile: try admit(DownloadFileEndpoint(), route, context)
        default: throw EndpointError.endpointUnknown
        }
    }

    /// In the order of every request: token, parameters, user.
    private func admit<E: TransferEndpoint>(
        _ endpoint: E, _ route: EndpointRoute, _ context: RequestContext
    ) throws -> String? {
        let person = try E.Request.Access.person(asking: context)
        let request = try E.Request(query: context.head.query)
        let caller = try E.Request.Access.caller(person, at: route, in: context)
        try endpoint.admit(request, from: caller, in: context)
        return context.signInTicket(for: person)
    }

    /// The reply's parts as headers of another one.
    private static func wrapped(_ reply: ErrorReply) -> [(name: String, value: String)] {
        reply.headers.filter { $0.name != "content-type" } + [
            (name: "syncd-refusal-status", value: "\(reply.status)"),
            (name: "syncd-refusal-form", value: reply.isProblem ? "problem" : "json"),
            (name: "syncd-refusal-body", value: String(decoding: reply.body, as: UTF8.self)),
        ]
    }
}
