import TestSupport
import Testing

/// The monitoring pages of a stack, which only its own host can read.
struct MetricsPages {
    let address: HTTPAddress

    init(_ server: TestServer) throws { address = try HTTPAddress(server.environment.value("METRICS_URL")) }

    func get(_ path: String) throws -> HTTPReply { try address.perform(HTTPCall("GET", path)) }

    /// The values of one scrape, by series.
    func samples() throws -> [String: Double] {
        let reply = try get("/metrics")
        guard reply.status == 200 else { throw UnexpectedReply("metrics", reply) }
        var samples: [String: Double] = [:]
        for line in String(decoding: reply.body, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            guard let blank = line.lastIndex(of: " ") else { continue }
            samples[String(line[..<blank])] = Double(line[line.index(after: blank)...])
        }
        return samples
    }
}
