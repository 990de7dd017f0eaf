/// A real server on this machine behind a host of the sandbox, so that the sandbox's faults and log apply to its
/// clients.
struct Backend: Sendable, Equatable {
    /// The suffix of hosts that may have a backend.
    static let hostSuffix = ".sandbox.test"

    /// The host name for clients, in lower case.
    let host: String
    /// The server's port on 127.0.0.1, for plain http.
    let port: UInt16

    /// `{"host": "s3.sandbox.test", "address": "http://127.0.0.1:9000"}`.
    init(json: JSONValue) throws(ControlError) {
        guard let host = json["host"]?.string?.lowercased(), host.hasSuffix(Self.hostSuffix),
            host.utf8.count > Self.hostSuffix.utf8.count
        else { throw .badRequest("host must end in \(Self.hostSuffix)") }
        let prefix = "http://127.0.0.1:"
        guard let address = json["address"]?.string, address.hasPrefix(prefix),
            let port = UInt16(address.dropFirst(prefix.count)), port > 0
        else { throw .badRequest("address must be \(prefix)PORT") }
        self.host = host
        self.port = port
    }

    var json: JSONValue { ["host": .string(host), "address": .string("http://127.0.0.1:\(port)")] }
}
