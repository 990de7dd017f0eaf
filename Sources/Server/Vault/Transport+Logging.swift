public import HTTPTransport
import HTTPTypes
public import Logging

extension Transport {
    /// The same transport, with a log line for each call to a provider.
    ///
    /// The line contains the metadata of `logger`, such as the request id from nginx; the host, but never the path or
    /// the query, which may contain names and capability URLs; and the outcome. Calls that the provider did not serve
    /// (no reply, 429, 5xx) are logged as warnings, since they are retried or reported; others as `info`. The line of a
    /// rejected call includes the provider's error code.
    public func logged(by logger: Logger) -> Transport {
        Transport(
            send: { request, deadline throws(TransportError) in
                let started = ContinuousClock.now
                do throws(TransportError) {
                    let reply = try send(request, by: deadline)
                    Self.note(
                        request, status: reply.status, ProviderErrorCode(of: reply), since: started, logger)
                    return reply
                } catch {
                    Self.note(request, error, since: started, logger)
                    throw error
                }
            },
            stream: { request, deadline, head, body throws(TransportError) in
                let started = ContinuousClock.now
                do throws(TransportError) {
                    let reply = try stream(request, by: deadline, head: head, body: body)
                    Self.note(request, status: reply.status, nil, since: started, logger)
                    return reply
                } catch {
                    Self.note(request, error, since: started, logger)
                    throw error
                }
            })
    }

    private static func note(
        _ request: OutgoingRequest, status: Int, _ code: ProviderErrorCode?, since started: ContinuousClock.Instant,
        _ logger: Logger
    ) {
        let isServed = status < 500 && status != 429
        var outcome: [LogKey: Logger.MetadataValue] = [.status: "\(status)"]
        outcome[.providerCode] = code.map { "\($0)" }
        logger.log(
            level: isServed ? .info : .warning, "Provider call",
            metadata: metadata(of: request, outcome, since: started))
    }

    private static func note(
        _ request: OutgoingRequest, _ error: TransportError, since started: ContinuousClock.Instant, _ logger: Logger
    ) {
        // Stopped on our side: the phone disconnected, or no more data was needed.
        let level: Logger.Level = if case .cancelled = error { .info } else { .warning }
        logger.log(
            level: level, "Provider call", metadata: metadata(of: request, [.reason: "\(error)"], since: started))
    }

    private static func metadata(
        of request: OutgoingRequest, _ outcome: [LogKey: Logger.MetadataValue], since started: ContinuousClock.Instant
    ) -> Logger.Metadata {
        let (seconds, attoseconds) = started.duration(to: .now).components
        return .keyed(
            outcome.merging([
                .method: "\(request.method.rawValue)", .providerHost: "\(HTTPSAddress(request.url)?.host ?? "-")",
                .durationMilliseconds: "\(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)",
            ]) { $1 })
    }
}
