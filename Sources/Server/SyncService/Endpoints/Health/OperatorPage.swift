import Store
import SyncProtocol

/// Pages in plain text that are not endpoints of the protocol. The web server serves the pages for the host's own
/// monitoring on loopback only; ``failover`` is public.
public enum OperatorPage: String, Sendable {
    /// Whether this process accepts requests at all. Does not query the database, since a restart would not repair
    /// that.
    case live
    /// Whether requests would succeed: the database responds and has the right schema. A process that is stopping
    /// accepts no more requests, so it does not report itself as ready.
    case ready
    /// Metrics for Prometheus.
    case metrics
    /// The text that deployed apps fetch and show after a 503.
    case failover
}

extension Router {
    /// The text for a 503 without an announcement.
    private static let unannounced = "The service is not available at the moment. Please try again later."

    /// Answers a request for an operator's page, in plain text.
    /// - Parameter metrics: content type and text of the metrics; `nil` if none are collected.
    public func answer(
        _ page: OperatorPage, on connection: any ClientConnection,
        metrics: () throws -> (contentType: String, text: [UInt8])?
    ) {
        do {
            do {
                var contentType = "text/plain; charset=utf-8"
                var body = Array("\(page.rawValue)\n".utf8)
                switch page {
                case .live: break
                case .ready: try checkStore()
                case .failover: body = Array((maintenanceText ?? Self.unannounced).utf8)
                case .metrics:
                    guard let numbers = try metrics() else { throw EndpointError.endpointUnknown }
                    (contentType, body) = numbers
                }
                try send(200, contentType, body, on: connection)
            } catch let gone as ClientGone {
                throw gone
            } catch {
                let response = ErrorResponse(for: error)
                try send(
                    response.status, "text/plain; charset=utf-8", Array("\(response.code.rawValue)\n".utf8),
                    on: connection)
            }
            connection.finish()
        } catch {
            connection.abandon()
        }
    }

    private func send(
        _ status: Int, _ contentType: String, _ body: [UInt8], on connection: any ClientConnection
    ) throws(ClientGone) {
        try connection.start(
            status: status,
            headers: [
                (name: "content-type", value: contentType), (name: "content-length", value: "\(body.count)"),
                (name: "cache-control", value: "no-store"),
            ])
        try connection.write(body.span)
    }
}
