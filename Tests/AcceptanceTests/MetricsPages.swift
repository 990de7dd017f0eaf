import TestSupport
import Testing

/// The pages of a stack that only its own host can read.
struct MetricsPages {
    let address: HTTPAddress

    init(_ server: TestServer) throws { address = try HTTPAddress(server.environment.value("METRICS_URL")) }

    func get(_ path: String) throws -> HTTPReply { try address.perform(HTTPCall("GET", path)) }

    /// The numbers by their series, as one scrape gives them.
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
