public import Foundation
public import HTTPTypes

/// What carries out HTTP requests for a ``ServerConnection``.
///
/// ``URLSessionExecutor`` is the one for apps; tests script their own. An executor makes one attempt and does not judge
/// statuses. It follows no redirect, keeps no cookies and caches nothing: requests carry credentials.
public protocol HTTPExecutor: Sendable {
    /// Sends a request and waits for the whole reply.
    ///
    /// If the surrounding task is cancelled the transfer ends at once and the failure is ``TransportFailure/Kind/cancelled``.
    /// - Parameter progress: called while the bodies of large transfers move; any thread, in order.
    /// - Throws: ``TransportFailure`` if there is no complete reply, whatever its status would have been.
    func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(TransportFailure) -> HTTPReply
}

/// One request with its body, and what shall become of the reply's.
public struct HTTPExchange: Sendable {
    /// The body of a request.
    public enum Body: Sendable, Hashable {
        /// None; a method that may have one says `Content-Length: 0`.
        case none
        /// Bytes in memory.
        case bytes(Data)
        /// The bytes of a file, read while they are sent.
        case file(URL)
    }

    /// Method, address and headers.
    public var request: HTTPRequest
    /// The body.
    public var body: Body
    /// Where the body of a reply with the status 200 goes; an existing file is replaced. Nil: into memory.
    public var destination: URL?
    /// Longest time without any progress.
    public var idleTimeout: Duration
    /// By what a transfer is recognised if it outlives the process; see ``UnattendedTransfer``.
    public var label: String?

    /// Collects the parts.
    public init(
        request: HTTPRequest, body: Body = .none, destination: URL? = nil, idleTimeout: Duration = .seconds(60),
        label: String? = nil
    ) {
        self.label = label
        self.request = request
        self.body = body
        self.destination = destination
        self.idleTimeout = idleTimeout
    }
}

/// A reply that arrived as a whole. It can be kept beyond the life of the process.
public struct HTTPReply: Sendable, Hashable, Codable {
    /// Status and headers.
    public var response: HTTPResponse
    /// The body; empty if it went into a file.
    public var body: Data
    /// How many bytes went into the file; nil if it was not written, as the status was not 200 or memory was asked for.
    public var fileLength: Int64?

    /// Collects the parts.
    public init(response: HTTPResponse, body: Data = Data(), fileLength: Int64? = nil) {
        self.response = response
        self.body = body
        self.fileLength = fileLength
    }

    /// The value of a header; nil if it is missing.
    func header(_ name: HTTPField.Name) -> String? { response.headerFields[name] }
}

/// How far a transfer is.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes of the request's body that were handed to the network.
    public var sentBytes: Int64
    /// Bytes of the reply's body that arrived.
    public var receivedBytes: Int64
    /// How many bytes there are in the direction that matters; nil if nobody said so.
    public var totalBytes: Int64?

    /// Puts it together.
    public init(sentBytes: Int64 = 0, receivedBytes: Int64 = 0, totalBytes: Int64? = nil) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
        self.totalBytes = totalBytes
    }
}

/// Why there is no reply.
public struct TransportFailure: Error, Sendable {
    /// What the caller can make of it.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// No way to the server: nothing of the request was sent.
        case notConnected
        /// The connection ended on the way: the server may have carried the request out.
        case interrupted
        /// Nothing moved for too long: the server may have carried the request out.
        case timedOut
        /// The task was cancelled: the server may have carried the request out.
        case cancelled
        /// The server did not prove who it is: nothing was sent.
        case untrusted
        /// The file to be sent cannot be read.
        case fileUnreadable
        /// The received bytes cannot be stored.
        case fileUnwritable
        /// What came is not HTTP as it should be.
        case malformed

        /// Whether the server cannot have seen the request.
        public var isBeforeSending: Bool {
            switch self {
            case .notConnected, .untrusted, .fileUnreadable: true
            case .interrupted, .timedOut, .cancelled, .fileUnwritable, .malformed: false
            }
        }
    }

    /// What the caller can make of it.
    public var kind: Kind
    /// The system's error, for a log.
    public var underlying: (any Error)?

    /// Puts it together.
    public init(_ kind: Kind, underlying: (any Error)? = nil) {
        self.kind = kind
        self.underlying = underlying
    }
}
