public import HTTPTypes
import SyncProtocol

/// One HTTP request to a provider.
public struct OutgoingRequest: Sendable {
    /// The purpose of the request; determines how it is counted and whose share of calls it uses.
    public var call: ProviderCall
    public var method: HTTPRequest.Method
    /// An absolute https URL, already percent-encoded; http only to a ``Destination/listed`` server.
    public var url: String
    public var headers: HTTPFields
    /// `nil` for no body.
    public var body: OutgoingBody?
    /// Maximum size of the reply body kept in memory; the call fails if the body is larger.
    public var replyLimitBytes: Int
    /// Whether the request may reach the server twice; if `false`, it gets a new connection, since the HTTP library
    /// resends a request when a reused connection breaks.
    public var isRepeatable = true
    /// Whether it is made concurrently with another request to save time, and could also follow it. It is made only
    /// while at least half of the service's share of calls is free, and does not wait for that.
    public var isEarly = false
    /// Whether the server supports HTTP/2 only; over another version the call fails.
    public var requiresHTTP2 = false
    /// Who chose the host in ``url``, and hence where the connection may go.
    public var destination = Destination.company
    /// Whether it goes to a server that a caller has named and that has no known users: all such requests share a small
    /// part of the calls, since names can be made up.
    public var isUnproved = false

    /// Who determines where a request goes.
    public enum Destination: Sendable, Hashable {
        /// The adapter, or the company's service itself: one of the service's hosts.
        case company
        /// The operator, who lists the server: it may have any address, and use plain http.
        case listed
        /// A person, whose choice is not trusted: the connection is made only to a public address, whatever the host's
        /// name resolves to at that moment.
        case named
    }

    public init(
        _ service: ExternalService, _ operation: ProviderCall.Operation, _ method: HTTPRequest.Method, _ url: String,
        headers: HTTPFields = [:], body: OutgoingBody? = nil, replyLimitBytes: Int = 1 << 20
    ) {
        call = ProviderCall(service, operation)
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.replyLimitBytes = replyLimitBytes
    }

    /// A POST of `fields` as `application/x-www-form-urlencoded`, every value fully percent-encoded.
    public static func form(
        _ service: ExternalService, _ operation: ProviderCall.Operation, _ url: String,
        _ fields: [(name: String, value: String)]
    ) -> OutgoingRequest {
        OutgoingRequest(
            service, operation, .post, url, headers: [.contentType: "application/x-www-form-urlencoded"],
            body: .bytes(ArraySlice(encoded(fields).utf8)))
    }

    /// `base` with `items` appended as a query, every value fully percent-encoded.
    public static func url(_ base: String, _ items: [(name: String, value: String)]) -> String {
        items.isEmpty ? base : base + "?" + encoded(items)
    }

    /// The server of a request that is not a company's: scheme, host and port.
    ///
    /// Such servers must not affect each other, although they have the same ``ExternalService``. `nil` for companies.
    public var server: String? {
        guard destination != .company else { return nil }
        return String(url.prefix(while: { $0 != ":" })) + "://"
            + url.split(separator: "/").dropFirst().prefix(1).joined()
    }

    private static func encoded(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { $0.name + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }
}

/// The body of a request.
public enum OutgoingBody: Sendable {
    /// Complete bytes; not copied, and kept by the sender until the call returns.
    case bytes(ArraySlice<UInt8>)
    /// Bytes from a position that arrive while the request is being sent.
    case arriving(any ArrivingBytes, from: Int = 0)

    /// The exact length.
    public var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .arriving(let bytes, let start): bytes.count - start
        }
    }

    /// The bytes, if they are complete.
    public var bytes: ArraySlice<UInt8>? { if case .bytes(let bytes) = self { bytes } else { nil } }

    /// Why the bytes will never arrive; `nil` if they may still arrive.
    public var failure: (any Error)? { if case .arriving(let bytes, _) = self { bytes.failure } else { nil } }
}

/// Bytes, some of which may still be arriving; used by one thread at a time.
public protocol ArrivingBytes: AnyObject, Sendable {
    /// The final number of bytes.
    var count: Int { get }

    /// Copies bytes from `position` into the beginning of `buffer`, and waits if none of them has arrived.
    ///
    /// A position may be read again.
    /// - Returns: the number of bytes copied, at least 1.
    /// - Throws: ``failure``, or an error if the position cannot be read again; the transfer then ends with
    ///   ``TransportError/cancelled``.
    func read(from position: Int, into buffer: inout MutableSpan<UInt8>) throws -> Int

    /// Why the bytes will never arrive; `nil` unless that is known.
    var failure: (any Error)? { get }
}
