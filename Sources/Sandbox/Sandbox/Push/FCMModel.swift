internal import FoundationEssentials

/// Firebase Cloud Messaging v1, and the access tokens of the service account that may use it.
///
/// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send
struct FCMModel {
    static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// A message requires one of these scopes.
    private static let scopes = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]
    private static let tokenURL = "https://oauth2.googleapis.com/token"
    private static let lifeSeconds = 3_599.0
    private static let longestBody = 4_096
    let server: SandboxServer

    /// An error response.
    private struct Refusal: Error {
        var status: Int
        /// A name of `google.rpc.Code`.
        var name: String
        var message: String
        /// FCM's own code, if the error has one.
        var code: String?
        var retryAfter: Int?
    }

    // MARK: Access tokens

    /// `POST /token` with an assertion (RFC 7523).
    func accessToken(_ request: SandboxRequest, _ form: QueryItems) throws(OAuthError) -> SandboxResponse {
        let now = server.now
        guard let assertion = form["assertion"],
            let token = CheckedToken(
                assertion, algorithm: "RS256", key: PushKeys(directory: server.directory).fcm,
                isAnySignatureGood: server.breaks.contains(.acceptAnySignature))
        else { throw refused(request, "Invalid JWT Signature.") }
        let claims = token.claims
        guard claims["iss"]?.string == RegisteredApps.fcmServiceAccount else {
            throw refused(request, "Invalid grant: account not found")
        }
        let scopes = claims["scope"]?.string?.split(separator: " ").map(String.init) ?? []
        guard claims["aud"]?.string == Self.tokenURL, scopes.contains(where: Self.scopes.contains) else {
            throw refused(request, "Invalid audience or scope")
        }
        guard let issuedAt = claims["iat"]?.int, let expiresAt = claims["exp"]?.int, expiresAt - issuedAt <= 3_600,
            issuedAt <= now.unixSeconds + 300, expiresAt > now.unixSeconds
        else {
            throw refused(
                request, "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.")
        }
        let text = "ya29.c." + RandomText.token(160)
        server.withState { $0.serviceTokens[text] = now.addingTimeInterval(Self.lifeSeconds) }
        return SandboxResponse(
            200,
            json: [
                "access_token": .string(text), "expires_in": .int(Int(Self.lifeSeconds)), "token_type": "Bearer",
            ])
    }

    private func refused(_ request: SandboxRequest, _ text: String) -> OAuthError {
        server.note(request, "assertion", text)
        return OAuthError(400, "invalid_grant", text)
    }

    // MARK: Messages

    /// Handles a request to `fcm.googleapis.com`.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        do {
            let (push, isValidatedOnly) = try accept(request)
            if !isValidatedOnly, !server.breaks.contains(.losePushes) { server.withState { $0.add(push) } }
            let name = isValidatedOnly ? "fake_message_id" : RandomText.token(16)
            return SandboxResponse(
                200, json: ["name": .string("projects/\(RegisteredApps.fcmProject)/messages/\(name)")])
        } catch let refusal as Refusal {
            var error: JSONObject = [
                "code": .int(refusal.status), "message": .string(refusal.message), "status": .string(refusal.name),
            ]
            if let code = refusal.code {
                error["details"] = [
                    [
                        "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code),
                    ]
                ]
            }
            return SandboxResponse(
                refusal.status, json: ["error": .object(error)],
                headers: refusal.retryAfter.map { [("Retry-After", String($0))] } ?? [])
        }
    }

    /// - Returns: the message, and whether the sender only wants it validated.
    private func accept(_ request: SandboxRequest) throws -> (push: DeliveredPush, isValidatedOnly: Bool) {
        guard request.method == "POST", request.path == "/v1/projects/\(RegisteredApps.fcmProject)/messages:send" else {
            server.note(request, "unknown-route", "the sandbox's FCM has no \(request.method) \(request.path)")
            throw Refusal(status: 404, name: "NOT_FOUND", message: "Requested entity was not found.")
        }
        let now = server.now
        guard let bearer = request.bearerToken, let expiresAt = server.withState({ $0.serviceTokens[bearer] }),
            expiresAt > now
        else {
            throw Refusal(
                status: 401, name: "UNAUTHENTICATED",
                message: "Request had invalid authentication credentials. Expected OAuth 2 access token.")
        }
        let body = try request.body.readAll(limit: 65_536)
        let json = try? JSONValue(parsing: body)
        guard body.count <= Self.longestBody, let message = json?["message"], let target = Self.target(of: message),
            message["data"]?.object?.members.allSatisfy({ $0.value.string != nil }) ?? true
        else {
            server.note(request, "message", "FCM does not accept the body as a message")
            throw Refusal(status: 400, name: "INVALID_ARGUMENT", message: "Invalid JSON payload received.")
        }
        var outcome = server.withState { $0.pushTokens[target] }?.outcome ?? .delivered
        if outcome != .delivered, server.breaks.contains(.vaguePushErrors) { outcome = .bad }
        switch outcome {
        case .delivered: break
        case .unregistered:
            throw Refusal(
                status: 404, name: "NOT_FOUND", message: "Requested entity was not found.", code: "UNREGISTERED")
        case .bad:
            throw Refusal(
                status: 400, name: "INVALID_ARGUMENT",
                message: "The registration token is not a valid FCM registration token", code: "INVALID_ARGUMENT")
        case .rateLimited:
            throw Refusal(
                status: 429, name: "RESOURCE_EXHAUSTED", message: "Quota exceeded.", code: "QUOTA_EXCEEDED",
                retryAfter: 60)
        }
        let notification = message["notification"]
        let push = DeliveredPush(
            time: now, service: "fcm", environment: nil, token: target,
            text: notification?["body"]?.string ?? notification?["title"]?.string ?? "",
            id: message["android"]?["notification"]?["tag"]?.string ?? RandomText.token(16))
        return (push, json?["validate_only"]?.bool ?? false)
    }

    /// The recipient of a message: a device's token, `/topics/NAME`, or a condition about topics; `nil` unless there is
    /// exactly one.
    private static func target(of message: JSONValue) -> String? {
        let targets = ["token", "topic", "condition"].compactMap { name in
            message[name]?.string.map { (name, $0) }
        }
        guard targets.count == 1, let (name, value) = targets.first, !value.isEmpty else { return nil }
        switch name {
        case "token": return value
        case "topic":
            let isName = value.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-_.~%".utf8.contains(byte)
                }
            }
            return isName ? "/topics/" + value : nil
        default: return value.contains("in topics") ? value : nil
        }
    }
}
