import Foundation

/// A notification that an emulated push service accepted.
public struct SandboxPush: Sendable, Equatable {
    public let service: String
    public let environment: String?
    public let token: String
    public let text: String
    public let id: String

    init?(_ json: JSONValue) {
        guard let service = json.service?.text, let token = json.token?.text, let text = json["text"]?.text,
            let id = json.id?.text
        else { return nil }
        self.service = service
        self.token = token
        self.text = text
        self.id = id
        environment = json.environment?.text
    }
}

extension SandboxControl {
    /// The notifications that the emulated push services have accepted for a device so far.
    public func pushes(to token: String) throws -> [SandboxPush] {
        let reply = try address.perform(HTTPCall("GET", "/sandbox/pushes?token=\(token)"))
        guard reply.status == 200, let array = JSONValue(reply.body)?.array else {
            throw UnexpectedReply("sandbox pushes", reply)
        }
        return array.compactMap(SandboxPush.init)
    }

    /// Sets the outcome of pushes to a device's token from now on.
    /// - Parameters:
    ///   - outcome: `delivered`, `unregistered`, `bad` or `rateLimited`.
    ///   - environment: the only APNs environment that knows the token.
    public func script(
        pushToken token: String, outcome: String = "delivered", environment: String? = nil, topic: String? = nil,
        sinceSecondsAgo: Int = 0
    ) throws {
        var body: [String: Any] = ["token": token, "outcome": outcome, "sinceSecondsAgo": sinceSecondsAgo]
        if let environment { body["environment"] = environment }
        if let topic { body["topic"] = topic }
        let bytes = Array(try JSONSerialization.data(withJSONObject: body))
        let reply = try address.perform(
            HTTPCall("POST", "/sandbox/push-tokens", headers: [("Content-Type", "application/json")], body: bytes))
        guard reply.status == 201 else { throw UnexpectedReply("sandbox push-tokens", reply) }
    }
}
