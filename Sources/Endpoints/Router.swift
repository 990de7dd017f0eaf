public import HTTPTransport
public import Logging
import Store
import SyncProtocol
import UserStorage

/// Takes every request from its first line to the end of its reply.
///
/// Shared by all threads; each call runs on the thread that makes it.
public struct Router: Sendable {
    private let services: Services
    private let observer: RequestObserver?
    private let logger: Logger

    /// - Parameter observer: told of every request, for statistics.
    public init(services: Services, observer: RequestObserver? = nil, logger: Logger) {
        self.services = services
        self.observer = observer
        self.logger = logger
    }

    /// Answers one request, whatever happens, and writes one line about it to the log.
    public func handle(_ head: RequestHead, on connection: any ClientConnection, transport: Transport) {
        let started = ContinuousClock.now
        var logger = logger
        logger[metadataKey: LogKey.requestID.rawValue] = "\(head.requestID ?? "-")"
        let context = RequestContext(
            head: head, connection: connection, services: services, transport: transport.logged(by: logger),
            logger: logger)
        let outcome = answer(context)
        let took = started.duration(to: .now)
        if context.hasCommitted, let endpoint = outcome.endpoint { observer?.committed(endpoint) }
        observer?.ended(outcome.endpoint, outcome.status, outcome.isStale, took)
        context.logger.notice(
            "Request",
            metadata: .keyed([
                .endpoint: "\(outcome.endpoint?.rawValue ?? "-")", .status: "\(outcome.status)",
                .code: "\(outcome.code ?? "-")",
                .durationMilliseconds: "\(took.milliseconds)", .bytesReceived: "\(context.body.receivedBytes)",
                .bytesSent: "\(outcome.bytesSent)",
            ]))
    }

    /// Says in the log that a thread could not begin its work.
    public func report(_ error: any Error) {
        logger.error("Worker thread ended", metadata: .keyed([.reason: "\(error)"]))
    }

    /// - Throws: ``StoreError/unavailable(_:)`` if the database does not answer or is not the right one.
    func checkStore() throws { try services.store.check() }

    private struct Outcome {
        var endpoint: EndpointName?
        var status = 200
        var code: String?
        var isStale = false
        var bytesSent: Int64 = 0
    }

    private func answer(_ context: RequestContext) -> Outcome {
        var outcome = Outcome()
        do {
            do {
                let route = try route(context.head)
                outcome.endpoint = route.endpoint
                observer?.began(route.endpoint)
                let reply = try respond(to: route, in: context)
                try send(reply, to: route, in: context, &outcome)
            } catch let gone as ClientGone {
                throw gone
            } catch let interrupted as ReplyInterrupted {
                throw interrupted
            } catch {
                let response = ErrorResponse(for: error)
                outcome.code = response.code
                outcome.status = response.status
                note(error, response, context.logger)
                try send(response, in: context)
            }
            context.connection.finish()
        } catch {
            // Either the phone is gone, or it must not take what it has for the whole.
            context.connection.abandon()
            outcome.status = 499
            outcome.code = error is ClientGone ? "client_gone" : "reply_interrupted"
            if let interrupted = error as? ReplyInterrupted {
                context.logger.warning("Reply cut off", metadata: .keyed([.reason: "\(interrupted.reason)"]))
            }
        }
        return outcome
    }

    private func route(_ head: RequestHead) throws -> EndpointRoute {
        switch RouteLookup(method: head.method, path: head.path, debug: DebuggingAids.areIncluded) {
        case .found(let route): return route
        case .methodNotAllowed(let allowed): throw EndpointError.methodNotAllowed(allowed: allowed.rawValue)
        case .unknownPath: throw EndpointError.endpointUnknown
        }
    }

    private func respond(to route: EndpointRoute, in context: RequestContext) throws -> EndpointReply {
        switch route.endpoint {
        case .healthCheck: try run(HealthCheckEndpoint(), route, context)
        case .checkCreds: try run(CheckCredsEndpoint(), route, context)
        case .addUser: try run(AddUserEndpoint(), route, context)
        case .index: try run(IndexEndpoint(), route, context)
        case .uploadFile: try run(UploadFileEndpoint(), route, context)
        case .getUploads: try run(GetUploadsEndpoint(), route, context)
        case .doneUploads: try run(DoneUploadsEndpoint(), route, context)
        case .downloadFile: try run(DownloadFileEndpoint(), route, context)
        case .createSharingInvitation: try run(CreateSharingInvitationEndpoint(), route, context)
        case .getSharingInvitationInfo: try run(GetSharingInvitationInfoEndpoint(), route, context)
        case .redeemSharingInvitation: try run(RedeemSharingInvitationEndpoint(), route, context)
        case .appleNotifications: try run(AppleNotificationsEndpoint(), route, context)
        case .removeUser: try run(RemoveUserEndpoint(), route, context)
        case .uploadAppMetaData: try run(UploadAppMetaDataEndpoint(), route, context)
        case .uploadDeletion: try run(UploadDeletionEndpoint(), route, context)
        case .downloadAppMetaData: try run(DownloadAppMetaDataEndpoint(), route, context)
        case .createSharingGroup: try run(CreateSharingGroupEndpoint(), route, context)
        case .updateSharingGroup: try run(UpdateSharingGroupEndpoint(), route, context)
        case .removeSharingGroup: try run(RemoveSharingGroupEndpoint(), route, context)
        case .removeUserFromSharingGroup: try run(RemoveUserFromSharingGroupEndpoint(), route, context)
        case .checkPrimaryCreds: try runDebuggingAid(route, context)
        case .discardUploads: try run(DiscardUploadsEndpoint(), route, context)
        case .getSharingInvitations: try run(GetSharingInvitationsEndpoint(), route, context)
        case .revokeSharingInvitation: try run(RevokeSharingInvitationEndpoint(), route, context)
        case .getSharingGroupMembers: try run(GetSharingGroupMembersEndpoint(), route, context)
        case .updateSharingGroupMember: try run(UpdateSharingGroupMemberEndpoint(), route, context)
        case .removeSharingGroupMember: try run(RemoveSharingGroupMemberEndpoint(), route, context)
        case .registerPushNotificationToken: try run(RegisterPushNotificationTokenEndpoint(), route, context)
        }
    }

    /// Checks in the order that decides what a doubly wrong request is told: token, parameters, user.
    private func run<E: Endpoint>(
        _ endpoint: E, _ route: EndpointRoute, _ context: RequestContext
    ) throws -> EndpointReply {
        if route.authentication != .none { try context.signIn() }
        let request = try E.Request(query: context.head.query)
        if route.authentication == .secondary { try context.findUser() }
        try DebuggingAids.failIfAsked(by: context.head)
        return try endpoint.respond(to: request, in: context)
    }

    /// CheckPrimaryCreds is all there is, and only in debugging builds.
    private func runDebuggingAid(_ route: EndpointRoute, _ context: RequestContext) throws -> EndpointReply {
        #if DEBUG
            try run(CheckPrimaryCredsEndpoint(), route, context)
        #else
            throw EndpointError.endpointUnknown
        #endif
    }

    // MARK: Replies

    private func send(
        _ reply: EndpointReply, to route: EndpointRoute, in context: RequestContext, _ outcome: inout Outcome
    ) throws {
        switch reply {
        case .json(let body, let isStale):
            outcome.isStale = isStale
            try context.body.drain()
            try start(200, context.replyHeaders + [("content-type", "application/json")], body, context)
            outcome.bytesSent = Int64(body.count)
        case .header(let text, let isStale):
            outcome.isStale = isStale
            try context.body.drain()
            let contentType = route.responseKind == .data ? "application/octet-stream" : "application/json"
            let headers =
                context.replyHeaders + [
                    (ResponseHeader.messageParams.rawValue, text), (name: "content-type", value: contentType),
                ]
            try start(200, headers, [], context)
        case .notModified:
            try context.body.drain()
            // Without a Content-Length: it would have to be that of the reply which is not sent.
            outcome.status = 304
            try context.connection.start(status: 304, headers: services.commonHeaders + context.replyHeaders)
        case .sent(let bytes):
            outcome.bytesSent = bytes
        }
    }

    private func send(_ response: ErrorResponse, in context: RequestContext) throws {
        try context.body.drain()
        let wantsProblem = context.head.header(.accept).map(Self.namesProblemType) ?? false
        let body = ErrorBody(
            error: response.message, code: response.code, requestId: context.head.requestID ?? "-",
            retryable: response.isRetryable, goneReason: response.goneReason, status: response.status,
            isProblem: wantsProblem)
        let contentType = wantsProblem ? Self.problemType : "application/json"
        var headers = [("content-type", contentType), (ResponseHeader.errorCode.rawValue, response.code)]
        if let method = response.allowedMethod { headers.append(("allow", method)) }
        if let delay = response.retryAfter { headers.append(("retry-after", "\(max(1, delay.components.seconds))")) }
        try start(response.status, headers, body.body, context)
    }

    private static let problemType = "application/problem+json"

    /// Whether a header `Accept` names problem details (RFC 9457) by their own type. Deployed clients send `*/*`, and get
    /// what they know.
    private static func namesProblemType(_ accept: String) -> Bool {
        accept.split(separator: ",").contains { range in
            let type = range.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
            return type.lowercased() == problemType
        }
    }

    private func start(
        _ status: Int, _ headers: [(name: String, value: String)], _ body: [UInt8], _ context: RequestContext
    ) throws {
        let length = [(name: "content-length", value: "\(body.count)")]
        try context.connection.start(status: status, headers: services.commonHeaders + headers + length)
        if !body.isEmpty { try context.connection.write(body.span) }
    }

    /// Writes to the log what only operators may read: errors that somebody should look at, and those that healed.
    private func note(_ error: any Error, _ response: ErrorResponse, _ logger: Logger) {
        switch response.status {
        case 500:
            logger.error("Request failed by a defect", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        case 502...507:
            logger.warning("Request failed", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        default: logger.debug("Request refused", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        }
    }
}

/// A reply that had begun cannot be completed; it must be cut off so that nobody takes it for the whole.
struct ReplyInterrupted: Error {
    var reason: String
}

extension Services {
    /// The headers of every reply.
    var commonHeaders: [(name: String, value: String)] {
        var headers = [(name: ResponseHeader.serverVersion.rawValue, value: settings.serverVersion)]
        if let minimum = settings.minimumIOSClientVersion {
            headers.append((name: ResponseHeader.minimumIOSClientAppVersion.rawValue, value: minimum))
        }
        return headers
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
