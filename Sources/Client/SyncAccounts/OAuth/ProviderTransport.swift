public import Foundation
import HTTPTypes
import SyncProtocol
import SyncServerConnection

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests to providers; tests script it. Follows no redirects, keeps no cookies.
public struct ProviderTransport: Sendable {
    /// Maximum size of a reply, in bytes.
    static let maximumReply = 1 << 20

    /// A complete reply.
    public struct Reply: Sendable {
        public var status: Int
        public var body: Data

        public init(status: Int, body: Data) {
            self.status = status
            self.body = body
        }
    }

    /// Sends a request; throws any error if no reply arrives.
    public var send: @Sendable (_ request: URLRequest) async throws -> Reply

    public init(send: @escaping @Sendable (_ request: URLRequest) async throws -> Reply) { self.send = send }

    /// A transport that uses the executor for apps on this platform, `PlatformExecutor`.
    /// - Parameter timeout: for the whole request, from the name lookup to the last byte of the reply.
    public static func system(timeout: Duration = .seconds(30)) -> ProviderTransport {
        #if os(Linux)
            let executor = CurlExecutor(maximumBodyBytes: maximumReply)
        #else
            let executor = PlatformExecutor()
        #endif
        return ProviderTransport { request in
            let exchange = try HTTPExchange(request, idleTimeout: timeout)
            let reply = try await within(timeout) { () async throws(TransportFailure) in
                try await executor.execute(exchange, progress: nil)
            }
            guard reply.body.count <= maximumReply else { throw TransportFailure(.malformed) }
            return Reply(status: reply.response.status.code, body: reply.body)
        }
    }

    /// The former name of ``system(timeout:)``.
    @available(*, deprecated, renamed: "system(timeout:)")
    public static func urlSession(timeout: Duration = .seconds(30)) -> ProviderTransport { system(timeout: timeout) }

    /// Cancels `body` if it takes longer.
    private static func within<Value: Sendable>(
        _ timeout: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask(operation: body)
            group.addTask {
                try await Task.sleep(for: timeout)
                throw TransportFailure(.timedOut)
            }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }
}

extension HTTPExchange {
    /// - Throws: if the address is not an HTTP URL, or the body is a stream.
    fileprivate init(_ request: URLRequest, idleTimeout: Duration) throws {
        guard let url = request.url, let parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = parts.scheme?.lowercased(), let authority = parts.authority,
            let method = HTTPRequest.Method(request.httpMethod ?? "GET"), request.httpBodyStream == nil
        else { throw TransportFailure(.malformed) }
        var fields = HTTPFields()
        for (name, value) in request.allHTTPHeaderFields ?? [:] {
            guard let name = HTTPField.Name(name) else { throw TransportFailure(.malformed) }
            fields[name] = value
        }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        self.init(
            request: HTTPRequest(
                method: method, scheme: scheme, authority: authority,
                path: path + (parts.percentEncodedQuery.map { "?\($0)" } ?? ""), headerFields: fields),
            body: request.httpBody.map { .bytes($0) } ?? .none, idleTimeout: idleTimeout)
    }
}

/// Encodes and decodes names and values of queries and forms.
enum FormText {
    /// `a=b&c=d`, with everything escaped except unreserved characters (RFC 3986, section 2.3).
    static func encode(_ items: [(name: String, value: String)]) -> String {
        items.map { PercentEncoding.encode($0.name) + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
    }

    /// The decoded text, with `+` for a space; `nil` for a malformed escape or invalid UTF-8.
    static func decode(_ text: Substring) -> String? {
        let bytes = text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(String(decoding: bytes, as: UTF8.self))
    }
}
