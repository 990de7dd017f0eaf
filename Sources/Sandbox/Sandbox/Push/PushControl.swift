internal import FoundationEssentials

/// The control interface's routes about push: delivered notifications, and the state of tokens.
struct PushControl {
    let server: SandboxServer

    /// `/sandbox/pushes` and `/sandbox/push-tokens`.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        switch (request.method, request.segments.last) {
        case ("GET", "pushes"):
            let token = request.query["token"]
            let pushes = server.withState { $0.pushes }.filter { token == nil || $0.token == token }
            return SandboxResponse(200, json: .array(pushes.map(\.json)))
        case ("DELETE", "pushes"):
            server.withState { $0.pushes = [] }
            return SandboxResponse(204)
        case ("POST", "push-tokens"): return try script(try ControlInterface.json(request))
        default: throw ControlError.methodNotAllowed
        }
    }

    private func script(_ json: JSONValue) throws(ControlError) -> SandboxResponse {
        guard let token = json["token"]?.string, !token.isEmpty else {
            throw .badRequest("token must be a device token")
        }
        let word = json["outcome"]?.string ?? PushTokenScript.Outcome.delivered.rawValue
        guard let outcome = PushTokenScript.Outcome(rawValue: word) else {
            let words = PushTokenScript.Outcome.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("outcome must be one of \(words)")
        }
        let environment = json["environment"]?.string
        guard [nil, "production", "sandbox"].contains(environment) else {
            throw .badRequest("environment must be production or sandbox")
        }
        let since = json["sinceSecondsAgo"]?.double ?? 0
        let script = PushTokenScript(
            outcome: outcome, environment: environment, topic: json["topic"]?.string,
            since: server.now.addingTimeInterval(-since))
        server.withState { $0.pushTokens[token] = script }
        return SandboxResponse(201, json: ["token": .string(token), "outcome": .string(word)])
    }
}
