public import Curl

extension Routing {
    /// Routes to the emulated providers if the configuration names them; otherwise to the hosts in the URLs.
    public init(_ sandbox: ServerConfiguration.Sandbox?) {
        self = sandbox.map { Routing(connectTo: "\($0.host):\($0.port)", caFile: $0.caFile) } ?? .direct
    }
}
