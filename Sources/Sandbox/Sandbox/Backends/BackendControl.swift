/// `/sandbox/backends`: the real servers behind hosts of the sandbox.
struct BackendControl {
    let server: SandboxServer

    /// `POST` adds or replaces a backend, `GET` lists them.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        switch request.method {
        case "POST":
            let backend = try Backend(json: try ControlInterface.json(request))
            server.withState { $0.backends[backend.host] = backend }
            return SandboxResponse(201, json: backend.json)
        case "GET":
            let backends = server.withState { $0.backends.values.sorted { $0.host < $1.host } }
            return SandboxResponse(200, json: .array(backends.map(\.json)))
        default: throw ControlError.methodNotAllowed
        }
    }
}
