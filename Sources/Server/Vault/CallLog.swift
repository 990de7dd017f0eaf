public import HTTPTransport
import HTTPTypes
public import Logging

/// Writes a log line for each call to a provider.
///
/// The line contains the logger's metadata, such as the request ID from nginx; the host, but never the path or the
/// query, which may contain names and capability URLs; and the outcome. Calls that the provider did not serve (no
/// reply, 429, 5xx) are logged as warnings, since they are retried or reported; others as `info`. The line of a
/// rejected call includes the provider's error code.
public struct CallLog: TransportDecorator {
    private let logger: Logger

    public init(_ logger: Logger) {
        self.logger = logger
    }

    /// A call in progress.
    public struct Call {
        fileprivate var method: HTTPRequest.Method
        fileprivate var url: String
        fileprivate var isEarly: Bool
        fileprivate var start: ContinuousClock.Instant
    }

    public func begin(_ request: OutgoingRequest, by deadline: Deadline) -> Call {
        Call(method: request.method, url: request.url, isEarly: request.isEarly, start: .now)
    }

    public func ended(_ call: Call, _ result: CallResult) {
        if call.isEarly, result.isWithheld { return }
        let (level, outcome) = Self.line(result)
        let (seconds, attoseconds) = call.start.duration(to: .now).components
        logger.log(
            level: level, "Provider call",
            metadata: .keyed(
                outcome.merging([
                    .method: "\(call.method.rawValue)", .providerHost: "\(HTTPSAddress(call.url)?.host ?? "-")",
                    .durationMilliseconds: "\(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)",
                ]) { $1 }))
    }

    private static func line(_ result: CallResult) -> (Logger.Level, [LogKey: Logger.MetadataValue]) {
        switch result {
        case .replied(let head, let body):
            let isServed = head.status < 500 && head.status != 429
            var outcome: [LogKey: Logger.MetadataValue] = [.status: "\(head.status)"]
            outcome[.providerCode] = body.flatMap { ProviderErrorCode(of: Reply(head: head, body: $0)) }.map { "\($0)" }
            return (isServed ? .info : .warning, outcome)
        // Stopped by this server: the phone disconnected, or no more data was needed.
        case .failed(.cancelled, head: _): return (.info, [.reason: "\(TransportError.cancelled)"])
        case .failed(let error, head: _): return (.warning, [.reason: "\(error)"])
        }
    }
}
