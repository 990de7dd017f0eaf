public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// How providers are asked; tests script it. Follows no redirect, keeps no cookies.
public struct ProviderTransport: Sendable {
    /// Longest reply that is read, in bytes.
    static let maximumReply = 1 << 20

    /// A reply that arrived as a whole.
    public struct Reply: Sendable {
        public var status: Int
        public var body: Data

        public init(status: Int, body: Data) {
            self.status = status
            self.body = body
        }
    }

    /// Sends a request; throws whatever it likes if there is no reply.
    public var send: @Sendable (_ request: URLRequest) async throws -> Reply

    public init(send: @escaping @Sendable (_ request: URLRequest) async throws -> Reply) { self.send = send }

    /// With `URLSession`.
    /// - Parameter timeout: for the whole request.
    public static func urlSession(timeout: Duration = .seconds(30)) -> ProviderTransport {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(timeout.components.seconds)
        configuration.timeoutIntervalForResource = TimeInterval(timeout.components.seconds)
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        let session = URLSession(configuration: configuration, delegate: NoRedirects(), delegateQueue: nil)
        return ProviderTransport { request in
            let (body, response) = try await session.data(for: request)
            guard let response = response as? HTTPURLResponse, body.count <= maximumReply else {
                throw URLError(.badServerResponse)
            }
            return Reply(status: response.statusCode, body: body)
        }
    }

    /// A redirect would take tokens elsewhere.
    private final class NoRedirects: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }
}
