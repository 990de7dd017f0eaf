import FoundationEssentials
import HTTPTypes
public import Logging
import UntrustedInput

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

/// The keys of structured log lines, defined once so that each has a single spelling.
public enum LogKey: String, Sendable {
    case requestID = "request_id"
    case endpoint
    case status
    case code
    case durationMilliseconds = "duration_ms"
    case userID = "user_id"
    case owningUserID = "owning_user_id"
    case storageType = "storage_type"
    case sharingGroup = "sharing_group"
    case bytesReceived = "bytes_received"
    case bytesSent = "bytes_sent"
    case reason
    case outboxID = "outbox_id"
    case count
    case clientNetwork = "client_network"
    case seconds
    case method
    case providerHost = "provider_host"
    case providerCode = "provider_code"
    case role
    case version
}

extension Logger.Metadata {
    /// Metadata with the keys of ``LogKey``.
    public static func keyed(_ pairs: [LogKey: Logger.MetadataValue]) -> Logger.Metadata {
        Logger.Metadata(uniqueKeysWithValues: pairs.map { ($0.key.rawValue, $0.value) })
    }
}

/// The error code in a provider's error body, for the log; never the text for people.
///
/// OAuth token endpoints return a word (RFC 6749, section 5.2), and Microsoft's also the number after `AADSTS`; the
/// APIs of Google, Microsoft and Facebook return a word or a number inside an object.
public struct ProviderErrorCode: CustomStringConvertible {
    /// Error bodies are a few hundred bytes long.
    private static let maximumBytes = 16_384
    private static let maximumWordLength = 64

    public let description: String

    /// `nil` if the reply is not an error, or contains no such code.
    public init?(of reply: Reply) {
        guard reply.status >= 400, reply.body.count <= Self.maximumBytes,
            let body = try? UntrustedJSON.decode(
                Body.self, from: reply.body, keys: .convertFromSnakeCase), let word = body.error?.word,
            word.isIdentifier(upTo: Self.maximumWordLength)
        else { return nil }
        description = (body.errorCodes ?? []).reduce(word) { "\($0) AADSTS\($1)" }
    }

    private struct Body: Decodable {
        var error: Cause?
        var errorCodes: [Int]?
    }

    private struct Cause: Decodable {
        var word: String?

        private enum Member: CodingKey {
            case code
        }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                word = text
                return
            }
            let members = try decoder.container(keyedBy: Member.self)
            let number = try? members.decode(Int.self, forKey: .code)
            word = (try? members.decode(String.self, forKey: .code)) ?? number.map(String.init)
        }
    }
}
