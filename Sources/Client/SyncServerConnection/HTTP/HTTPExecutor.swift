public import Foundation
public import HTTPTypes
import SyncProtocol

/// Performs HTTP requests for a ``ServerConnection``.
///
/// ``PlatformExecutor`` is the implementation for apps; tests script their own. An executor makes one attempt and
/// does not interpret statuses. It follows no redirects, keeps no cookies and caches nothing: requests carry
/// credentials.
public protocol HTTPExecutor: Sendable {
    /// Whether it sends parts of files (``HTTPExchange/Body/part(of:_:)``). If not, files are sent whole; the default.
    var sendsParts: Bool { get }
    /// Whether it passes on replies while they arrive (``HTTPExchange/arriving``). If not, the default, a stream of
    /// signals is not possible.
    var streamsReplies: Bool { get }

    /// Sends a request and waits for the whole reply.
    ///
    /// If the surrounding task is cancelled, the transfer ends at once and the failure is
    /// ``TransportFailure/Kind/cancelled``.
    /// - Parameter progress: called while the bodies of large transfers are transferred; on any thread, in order.
    /// - Throws: ``TransportFailure`` if there is no complete reply; a reply with any status is a reply.
    func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(TransportFailure) -> HTTPReply
}

extension HTTPExecutor {
    /// Files are sent whole.
    public var sendsParts: Bool { false }
    /// Replies are passed on as a whole.
    public var streamsReplies: Bool { false }
}

#if os(Linux)
    /// The executor for apps on this platform: libcurl on Linux, `URLSession` elsewhere. `PlatformExecutor()`,
    /// `PlatformExecutor(maximumTransfers:)` and `PlatformExecutor(maximumTransfers:network:)` work everywhere.
    public typealias PlatformExecutor = CurlExecutor
#else
    /// The executor for apps on this platform: libcurl on Linux, `URLSession` elsewhere. `PlatformExecutor()`,
    /// `PlatformExecutor(maximumTransfers:)` and `PlatformExecutor(maximumTransfers:network:)` work everywhere.
    public typealias PlatformExecutor = URLSessionExecutor
#endif

/// The networks that requests may use.
///
/// Apple's platforms enforce it: without a permitted network, requests fail as without any network, and succeed later.
/// Linux has no such information, and every network is permitted there. An executor that an app supplies follows its own
/// configuration.
public struct NetworkPolicy: Sendable, Hashable {
    /// Whether cellular networks are permitted.
    public var allowsCellular: Bool
    /// Whether networks are permitted that the system considers expensive: cellular ones, and personal hotspots.
    public var allowsExpensive: Bool
    /// Whether networks in Low Data Mode are permitted.
    public var allowsLowData: Bool

    /// Creates a policy.
    public init(allowsCellular: Bool = true, allowsExpensive: Bool = true, allowsLowData: Bool = true) {
        self.allowsCellular = allowsCellular
        self.allowsExpensive = allowsExpensive
        self.allowsLowData = allowsLowData
    }

    /// Every network.
    public static let any = Self()
    /// Wi-Fi and cables, except personal hotspots.
    public static let wiFi = Self(allowsCellular: false, allowsExpensive: false)
    /// Every network that is not in Low Data Mode.
    public static let notLowData = Self(allowsLowData: false)
}

/// A request with its body, and the destination of the reply's body.
public struct HTTPExchange: Sendable {
    /// The body of a request.
    public enum Body: Sendable, Hashable {
        /// No body; methods that allow one send `Content-Length: 0`.
        case none
        /// Bytes in memory.
        case bytes(Data)
        /// The bytes of a file, read while they are sent.
        case file(URL)
        /// Bytes of a file, by their positions. Only for executors with ``HTTPExecutor/sendsParts``.
        case part(of: URL, Range<Int64>)
    }

    /// Method, URL and headers.
    public var request: HTTPRequest
    /// The body.
    public var body: Body
    /// The file for the body of a reply with the status 200; an existing file is replaced. Nil: kept in memory.
    public var destination: URL?
    /// Keeps the body for ``destination`` if the connection is lost. An executor may ignore it, as
    /// ``URLSessionExecutor`` does in background sessions, whose downloads the system resumes.
    public var partial: PartialDownload?
    /// Maximum time without progress, including the wait for the reply's head.
    public var idleTimeout: Duration
    /// Identifies a transfer if it outlives the process; see ``UnattendedTransfer``.
    public var label: String?
    /// Receives the body of a reply with the status 200 while it arrives; then it is not in the ``HTTPReply``. Only for
    /// executors with ``HTTPExecutor/streamsReplies``. Such an exchange does not wait for its turn, because it may last
    /// for hours.
    public var arriving: (@Sendable (Data) -> Void)?

    /// Creates an exchange.
    public init(
        request: HTTPRequest, body: Body = .none, destination: URL? = nil, partial: PartialDownload? = nil,
        idleTimeout: Duration = .seconds(60), label: String? = nil
    ) {
        self.partial = partial
        self.label = label
        self.request = request
        self.body = body
        self.destination = destination
        self.idleTimeout = idleTimeout
    }
}

extension HTTPExchange {
    /// Whether the request's or the reply's body is in a file.
    var movesFile: Bool {
        switch body {
        case .file, .part: true
        case .none, .bytes: destination != nil
        }
    }
}

/// A complete reply. It can be stored beyond the lifetime of the process.
public struct HTTPReply: Sendable, Hashable, Codable {
    /// Maximum size of a body kept in memory: an index of half a million files.
    static let maximumBodyBytes = 256 << 20

    /// Status and headers.
    public var response: HTTPResponse
    /// The body; empty if it was written to a file.
    public var body: Data
    /// The number of bytes in the file; nil if no file was written, because the status was neither 200 nor 206, or no
    /// file was requested.
    public var fileLength: Int64?

    /// Creates a reply.
    public init(response: HTTPResponse, body: Data = Data(), fileLength: Int64? = nil) {
        self.response = response
        self.body = body
        self.fileLength = fileLength
    }

    /// The value of a header; nil if it is missing.
    func header(_ name: HTTPField.Name) -> String? { response.headerFields[name] }
}

/// The progress of a transfer.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes of the request's body handed to the network so far.
    public var sentBytes: Int64
    /// Bytes of the reply's body received so far.
    public var receivedBytes: Int64
    /// The total number of bytes in the direction of the transfer; nil if unknown.
    public var totalBytes: Int64?

    /// Creates a progress value.
    public init(sentBytes: Int64 = 0, receivedBytes: Int64 = 0, totalBytes: Int64? = nil) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }
}

/// The reason for a missing reply.
public struct TransportFailure: Error, Sendable {
    /// The kinds of failures, by what the caller can conclude.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// No connection to the server: no part of the request was sent.
        case notConnected
        /// The connection was lost: the server may have processed the request.
        case interrupted
        /// No progress for too long: the server may have processed the request.
        case timedOut
        /// The task was cancelled: the server may have processed the request.
        case cancelled
        /// The server's identity could not be verified: nothing was sent.
        case untrusted
        /// The file to be sent cannot be read.
        case fileUnreadable
        /// The received bytes cannot be stored.
        case fileUnwritable
        /// The reply is not valid HTTP.
        case malformed

        /// Whether the server cannot have seen the request.
        public var isBeforeSending: Bool {
            switch self {
            case .notConnected, .untrusted, .fileUnreadable: true
            case .interrupted, .timedOut, .cancelled, .fileUnwritable, .malformed: false
            }
        }
    }

    /// The kind of failure.
    public var kind: Kind
    /// The system's error, for a log.
    public var underlying: (any Error)?

    /// Creates a failure.
    public init(_ kind: Kind, underlying: (any Error)? = nil) {
        self.kind = kind
        self.underlying = underlying
    }
}

extension TransportFailure {
    /// A failure to store received bytes.
    init(storing error: any Error) {
        self = error as? TransportFailure ?? TransportFailure(.fileUnwritable, underlying: error)
    }
}

extension FileManager {
    /// Moves a file to its destination and returns its length; an existing file is replaced.
    func replace(_ destination: URL, with file: URL) throws -> Int64 {
        do { try FileCalls.move(file.path, to: destination.path) } catch {
            // Between file systems it is copied.
            try? removeItem(at: destination)
            try moveItem(at: file, to: destination)
        }
        return FileCalls.status(of: destination.path)?.size ?? 0
    }
}

/// A transfer that ended while no caller waited for it: the process that started it has ended.
///
/// ``ServerConnection/uploadOutcome(of:)`` and ``ServerConnection/downloadOutcome(of:in:)`` return its outcome.
public struct UnattendedTransfer: Sendable {
    /// The label of the transfer's ``HTTPExchange``.
    public var label: String?
    /// Its reply, or the failure.
    public var result: Result<HTTPReply, TransportFailure>
    /// The file with the downloaded bytes, which the app owns from now on, or nil.
    public var file: URL?

    /// Creates a transfer.
    public init(label: String?, result: Result<HTTPReply, TransportFailure>, file: URL? = nil) {
        self.label = label
        self.result = result
        self.file = file
    }
}

/// Receives transfers that outlived the process that started them.
public struct UnattendedTransfers: Sendable {
    /// The folder for downloaded files, each with a unique name.
    public var folder: URL
    /// Called when a transfer has ended, one call at a time. The app must have stored the transfer when it returns.
    public var ended: @Sendable (UnattendedTransfer) -> Void
    /// Called when all transfers that ended while the app was not running have been reported: then call the completion
    /// handler of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. Never called on systems
    /// without background sessions.
    public var allReported: @Sendable () -> Void

    /// Creates the handlers.
    public init(
        folder: URL, ended: @escaping @Sendable (UnattendedTransfer) -> Void,
        allReported: @escaping @Sendable () -> Void = {}
    ) {
        self.folder = folder
        self.ended = ended
        self.allReported = allReported
    }

    func newFile() -> URL { folder.appending(path: UUID().uuidString) }
}

extension RequestHeader {
    /// The header for swift-http-types.
    var fieldName: HTTPField.Name {
        guard let name = HTTPField.Name(rawValue) else { preconditionFailure("\(rawValue) is not a header name") }
        return name
    }
}

extension ResponseHeader {
    /// The header for swift-http-types, which compares names case-insensitively.
    var fieldName: HTTPField.Name {
        guard let name = HTTPField.Name(rawValue) else { preconditionFailure("\(rawValue) is not a header name") }
        return name
    }
}

extension HTTPReply {
    /// The value of one of the protocol's headers; nil if it is missing.
    func header(_ header: ResponseHeader) -> String? { self.header(header.fieldName) }
}

/// The value of `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The wait from `now`; nil if the value is neither seconds nor a date. A date in the past means zero.
    static func duration(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if let seconds = Int64(text) { return .seconds(max(0, seconds)) }
        guard let date = HTTPDate(text) else { return nil }
        return .seconds(max(0, date.secondsSince1970 - Int64(now.timeIntervalSince1970)))
    }
}

extension URLComponents {
    /// The host and, if present, the port (RFC 3986, section 3.2), without user information; nil without a host.
    package var authority: String? {
        guard let host, !host.isEmpty else { return nil }
        // An IPv6 address needs brackets, whether or not Foundation includes them.
        let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return port.map { "\(literal):\($0)" } ?? literal
    }
}
