public import HTTPTransport
public import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Handles every request from its first line to the end of its reply.
///
/// Shared by all threads; each call runs on the thread that makes it.
public struct Router: Sendable {
    let services: Services
    private let observer: RequestObserver?
    private let logger: Logger
    /// Requests that waited for their sign-in without a thread.
    let ready = ReadyVisits()

    /// - Parameter observer: informed about every request, for statistics.
    public init(services: Services, observer: RequestObserver? = nil, logger: Logger) {
        self.services = services
        self.observer = observer
        self.logger = logger
    }

    /// The outcome of handling a request.
    public enum Handling: Sendable {
        case answered
        /// The request waits for its turn, or for an answer about its token. Its connection now belongs to another
        /// thread; this thread must not use it again.
        case waits
    }

    /// Answers one request in every case, and writes one log line about it.
    ///
    /// If the user already has the maximum number of requests in progress, the request waits, and the thread that ends
    /// one of them continues with it; so this call may answer requests that other threads have begun.
    @discardableResult
    public func handle(_ head: RequestHead, on connection: any ClientConnection, transport: Transport) -> Handling {
        let visit = visit(head, on: connection, transport: transport)
        if let location = head.admissionLocation, !servesUnasked(visit.context) {
            passOn(connection, to: location)
            return .answered
        }
        return proceed(visit)
    }

    /// Handles a request from its beginning, including one that has waited for its sign-in.
    func proceed(_ visit: Visit) -> Handling { visit.isAdmission ? answerAdmission(visit) : begin(visit) }

    /// Ends a request that has waited for its sign-in.
    func refuse(_ visit: Visit, _ error: any Error) {
        if visit.isAdmission { return answerAdmission(visit, error) }
        visit.refuse(error)
        finish(visit)
    }

    private func begin(_ visit: Visit) -> Handling {
        allowParking(of: visit)
        do { try prepare(visit) } catch is SignInCache.Parked { return .waits } catch { visit.refuse(error) }
        endParking(of: visit)
        guard let turns = services.requestTurns, let user = visit.user else {
            finish(visit)
            return .answered
        }
        let connection = visit.context.connection
        switch turns.enter(user, visit) {
        case .waits: return .waits
        case .refused:
            visit.refuse(Refusal(.tooManySimultaneousRequests))
            finish(visit)
        case .goesOn:
            finish(visit)
            while let next = turns.leave(user) {
                next.context.connection.goOn(onThreadOf: connection)
                if next.started.duration(to: .now) > turns.longestWait {
                    next.refuse(Refusal(.tooManySimultaneousRequests))
                }
                finish(next)
            }
        }
        return .answered
    }

    func visit(
        _ head: RequestHead, on connection: any ClientConnection, transport: Transport, isAdmission: Bool = false
    ) -> Visit {
        var logger = logger
        logger[metadataKey: LogKey.requestID.rawValue] = "\(head.requestID ?? "-")"
        // For a request that will probably be rejected, only defects are logged.
        if services.refusalLog.isQuiet(about: ClientNetwork(address: head.clientAddress)) { logger.logLevel = .error }
        return Visit(
            RequestContext(
                head: head, connection: connection, services: services,
                transport: transport.decorated(by: CallLog(logger)),
                logger: logger), isAdmission: isAdmission)
    }

    /// Answers, and writes the log line.
    private func finish(_ visit: Visit) {
        answer(visit)
        report(visit)
    }

    /// The same for a request that ends before any work was done.
    func reportEarlyEnd(of visit: Visit) {
        if let endpoint = visit.outcome.endpoint { observer?.began(endpoint) }
        report(visit)
    }

    private func report(_ visit: Visit) {
        let (context, outcome) = (visit.context, visit.outcome)
        let took = visit.started.duration(to: .now)
        if context.hasCommitted, let endpoint = outcome.endpoint { observer?.committed(endpoint) }
        if let quota = context.refusedQuota { observer?.refused(quota) }
        if context.hasSignedInWithoutOfflineAccess { observer?.lackedOfflineAccess() }
        if let code = outcome.code { observer?.failed(code) }
        observer?.ended(outcome.endpoint, outcome.status, outcome.isStale, took)
        guard outcome.status < 400 || isLogged(visit) else { return }
        var logger = context.logger
        logger.logLevel = self.logger.logLevel
        logger.notice(
            "Request",
            metadata: .keyed([
                .endpoint: "\(outcome.endpoint?.rawValue ?? "-")", .status: "\(outcome.status)",
                .code: "\(outcome.code ?? "-")",
                .durationMilliseconds: "\(took.milliseconds)", .bytesReceived: "\(context.body.receivedBytes)",
                .bytesSent: "\(outcome.bytesSent)",
            ]))
    }

    /// Whether a rejected request gets its own log line.
    private func isLogged(_ visit: Visit) -> Bool {
        if let isLogged = visit.isLogged { return isLogged }
        let isLogged = services.refusalLog.note(from: visit.network)
        visit.isLogged = isLogged
        return isLogged
    }

    /// Logs how many refusals were not logged individually; call it regularly.
    /// - Parameter isLast: whether the process ends.
    public func reportOmissions(isLast: Bool = false) {
        for omission in services.refusalLog.omissions(isLast: isLast) {
            logger.notice(
                "Further requests from one network were refused",
                metadata: .keyed([.clientNetwork: "\(omission.network)", .count: "\(omission.count)"]))
        }
    }

    /// Logs that a thread could not begin its work.
    public func report(_ error: any Error) {
        logger.error("Worker thread ended", metadata: .keyed([.reason: "\(error)"]))
    }

    /// - Throws: ``StoreError/unavailable(_:)`` if the database does not respond or is not the right one.
    func checkStore() throws { try services.store.check() }

    /// Determines the caller and the endpoint; the remaining work becomes the visit's work.
    private func prepare(_ visit: Visit) throws {
        let route = try route(visit.context.head)
        visit.outcome.endpoint = route.endpoint
        if !visit.hasBegun { observer?.began(route.endpoint) }
        visit.hasBegun = true
        if services.refusesDuringMaintenance { try requireOpen(for: route.endpoint) }
        guard let message = route.message as? any ServedRequest.Type else { throw Refusal(.endpointUnknown) }
        visit.work = Visit.Work(route: route, run: try message.check(at: route, in: visit.context))
    }

    /// The announcement while the server is closed for maintenance; `nil` while it is open.
    var maintenanceText: String? { services.maintenance?.notice?.text }

    /// - Throws: ``ErrorCode/maintenance``; never for health checks.
    func requireOpen(for endpoint: EndpointName) throws {
        if endpoint != .healthCheck, let text = maintenanceText { throw Refusal(.maintenance, text) }
    }

    private func answer(_ visit: Visit) {
        let context = visit.context
        do {
            do {
                try takingShare(visit) {
                    let reply = try visit.work.run()
                    if let route = visit.work.route { try send(reply, to: route, in: context, &visit.outcome) }
                }
            } catch let gone as ClientGone where !context.body.isLeft {
                throw gone
            } catch let interrupted as ReplyInterrupted {
                throw interrupted
            } catch {
                try send(refusal(of: visit, error is ClientGone ? Refusal(.transferTooSlow) : error), in: context)
            }
            context.connection.finish()
        } catch {
            // Either the phone has disconnected, or it must not mistake an incomplete reply for a complete one.
            context.connection.abandon()
            visit.outcome.status = 499
            visit.outcome.code =
                switch error {
                case let gone as ClientGone:
                    gone.reason == .tooSlow ? ErrorCode.transferTooSlow.rawValue : "client_gone"
                default: "reply_interrupted"
                }
            if let interrupted = error as? ReplyInterrupted {
                context.logger.warning("Reply cut off", metadata: .keyed([.reason: "\(interrupted.reason)"]))
            }
        }
    }

    /// Transfers take a share of the available threads for their user and their direction. If none is left, the request
    /// is rejected at once, and its body is left unread.
    private func takingShare(_ visit: Visit, _ body: () throws -> Void) throws {
        guard let limit = services.transferLimit, let user = visit.user,
            let direction = visit.work.route?.endpoint.transferDirection
        else { return try body() }
        do { try limit.enter(user, direction) } catch {
            visit.context.body.leave()
            throw error
        }
        defer { limit.leave(user, direction) }
        try body()
    }

    /// The error reply for the phone; the error is also logged.
    func refusal(of visit: Visit, _ error: any Error) -> ErrorReply {
        let refusal = Refusal(for: error)
        visit.outcome.code = refusal.code.rawValue
        visit.outcome.status = refusal.status
        let isLogged = isLogged(visit)
        if isLogged || refusal.status == 500 { note(error, refusal, visit.context.logger) }
        // nginx then omits its log line as well.
        let unlogged = isLogged ? [] : [(name: "syncd-unlogged", value: "1")]
        return ErrorReply(
            refusal, requestID: visit.context.head.requestID, accept: visit.context.head.header(.accept),
            commonHeaders: services.commonHeaders + visit.context.commonHeaders + unlogged)
    }

    func route(_ head: RequestHead) throws -> EndpointRoute {
        switch RouteLookup(method: head.method, path: head.path, debug: DebuggingAids.areIncluded) {
        case .found(let route): return route
        case .methodNotAllowed(let allowed): throw Refusal.methodNotAllowed(allowed: allowed.rawValue)
        case .unknownPath: throw Refusal(.endpointUnknown)
        }
    }

    // MARK: Replies

    private func send(
        _ reply: EndpointReply, to route: EndpointRoute, in context: RequestContext, _ outcome: inout Visit.Outcome
    ) throws {
        switch reply {
        case .json(let body, let isStale):
            outcome.isStale = isStale
            try context.body.drain()
            try start(200, context.replyHeaders + [("content-type", "application/json")], body, context)
            outcome.bytesSent = Int64(body.count)
        case .header(let text, let isStale, let status):
            outcome.isStale = isStale
            outcome.status = status
            try context.body.drain()
            let contentType = route.responseKind == .data ? "application/octet-stream" : "application/json"
            let headers =
                context.replyHeaders + [
                    (ResponseHeader.messageParams.rawValue, text), (name: "content-type", value: contentType),
                ]
            try start(status, headers, [], context)
        case .empty(let status):
            try context.body.drain()
            outcome.status = status
            try context.connection.start(status: status, headers: services.commonHeaders + context.replyHeaders)
        case .notModified:
            try context.body.drain()
            // Without a Content-Length, which would have to be that of the reply that is not sent.
            outcome.status = 304
            try context.connection.start(status: 304, headers: services.commonHeaders + context.replyHeaders)
        case .events(let stream):
            try context.body.drain()
            let headers = [("content-type", ChangeSignal.streamType), (name: "cache-control", value: "no-store")]
            try start(200, context.replyHeaders + headers, stream, context)
            outcome.bytesSent = Int64(stream.count)
        case .elsewhere(let location):
            try context.body.drain()
            try context.connection.start(status: 200, headers: [(name: "x-accel-redirect", value: location)])
        case .sent(let bytes, let status):
            outcome.status = status
            outcome.bytesSent = bytes
        }
    }

    private func send(_ reply: ErrorReply, in context: RequestContext) throws {
        try context.body.drain()
        try context.connection.start(status: reply.status, headers: reply.headers + [Self.length(of: reply.body)])
        try context.connection.write(reply.body.span)
    }

    private static func length(of body: [UInt8]) -> (name: String, value: String) {
        (name: "content-length", value: "\(body.count)")
    }

    private func start(
        _ status: Int, _ headers: [(name: String, value: String)], _ body: [UInt8], _ context: RequestContext
    ) throws {
        // Without a Content-Length where there is no body by definition (RFC 9110, section 8.6).
        let length = status == 204 ? [] : [Self.length(of: body)]
        try context.connection.start(status: status, headers: services.commonHeaders + headers + length)
        if !body.isEmpty { try context.connection.write(body.span) }
    }

    /// Logs the details of an error, which only operators may read.
    private func note(_ error: any Error, _ refusal: Refusal, _ logger: Logger) {
        switch refusal.status {
        case 500:
            logger.error(
                "Request failed because of a defect", metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        case 502...507 where refusal.code != .maintenance && refusal.code != .restoring:
            logger.log(
                level: Logger.Level(ofFailure: error), "Request failed",
                metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        default: logger.debug("Request refused", metadata: .keyed([.reason: "\(refusal.message)"]))
        }
    }
}

extension EndpointName {
    /// The direction in which the endpoint transfers files, if it does.
    fileprivate var transferDirection: TransferShares.Direction? {
        switch self {
        case .uploadFile, .uploadSmallFiles, .reuploadFile, .appendToUpload: .upload
        case .downloadFile: .download
        default: nil
        }
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
