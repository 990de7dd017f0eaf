internal import FoundationEssentials

/// Requests and responses of the Apple Push Notification service; nginx handles HTTP/2.
///
/// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
struct APNsModel {
    /// The longest lifetime of a provider token, in seconds.
    static let tokenLifeSeconds = 3_600
    private static let longestPayload = 4_096
    /// The size limit of a call (`voip`).
    private static let longestCallPayload = 5_120
    /// The push types, with the suffixes of their topics after the app's identifier.
    private static let topicEndings = [
        "alert": "", "background": "", "mdm": "", "controls": ".push-type.controls", "widgets": ".push-type.widgets",
        "voip": ".voip", "complication": ".complication", "fileprovider": ".pushkit.file-provider",
        "liveactivity": ".push-type.liveactivity", "location": ".location-query", "pushtotalk": ".voip-ptt",
    ]
    let server: SandboxServer

    /// An error response.
    private struct Refusal: Error {
        var status: Int
        var reason: String
        var timestamp: Date?
    }

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        guard request.header("x-sandbox-protocol") == "HTTP/2.0" else {
            server.note(request, "http-version", "APNs supports only HTTP/2")
            return .cut
        }
        let id = request.header("apns-id") ?? UUID().uuidString
        do {
            let push = try accept(request, id: id)
            if !server.breaks.contains(.losePushes) { server.withState { $0.add(push) } }
            return SandboxResponse(200, headers: [("apns-id", id)])
        } catch let refusal as Refusal {
            var json: JSONObject = ["reason": .string(refusal.reason)]
            json["timestamp"] = .int(refusal.timestamp.map { $0.unixSeconds * 1_000 })
            return SandboxResponse(refusal.status, json: .object(json), headers: [("apns-id", id)])
        }
    }

    private func accept(_ request: SandboxRequest, id: String) throws -> DeliveredPush {
        let segments = request.segments
        guard segments.count == 3, segments[0] == "3", segments[1] == "device" else {
            throw refuse(request, 404, "BadPath")
        }
        guard request.method == "POST" else { throw refuse(request, 405, "MethodNotAllowed") }
        try checkProviderToken(request)
        try checkHeaders(request)
        let body = try request.body.readAll(limit: 65_536)
        guard !body.isEmpty else { throw refuse(request, 400, "PayloadEmpty") }
        let isCall = request.header("apns-push-type") == "voip"
        guard body.count <= (isCall ? Self.longestCallPayload : Self.longestPayload) else {
            throw refuse(request, 413, "PayloadTooLarge")
        }
        guard let json = try? JSONValue(parsing: body), json.object != nil else {
            server.note(request, "payload", "the payload is not a JSON object")
            throw Refusal(status: 400, reason: "PayloadEmpty")
        }
        let alert = json["aps"]?["alert"]
        let text = alert?.string ?? alert?["body"]?.string ?? alert?["title"]?.string ?? ""
        let environment = request.host == "api.push.apple.com" ? "production" : "sandbox"
        let token = segments[2]
        try checkDevice(token, in: environment, request)
        return DeliveredPush(
            time: server.now, service: "apns", environment: environment, token: token, text: text, id: id)
    }

    private func checkProviderToken(_ request: SandboxRequest) throws(Refusal) {
        guard let text = request.bearerToken else { throw refuse(request, 403, "MissingProviderToken") }
        let now = server.now.unixSeconds
        guard
            let token = CheckedToken(
                text, algorithm: "ES256", key: PushKeys(directory: server.directory).apns,
                isAnySignatureGood: server.breaks.contains(.acceptAnySignature)),
            token.header["kid"]?.string == RegisteredApps.apnsKeyID,
            token.claims["iss"]?.string == RegisteredApps.apnsTeamID, let issuedAt = token.claims["iat"]?.int,
            issuedAt <= now + 300
        else { throw refuse(request, 403, "InvalidProviderToken") }
        guard now - issuedAt <= Self.tokenLifeSeconds else {
            throw Refusal(status: 403, reason: "ExpiredProviderToken")
        }
    }

    private func checkHeaders(_ request: SandboxRequest) throws(Refusal) {
        guard let topic = request.header("apns-topic") else { throw refuse(request, 400, "MissingTopic") }
        guard let ending = Self.topicEndings[request.header("apns-push-type") ?? "alert"] else {
            throw refuse(request, 400, "InvalidPushType")
        }
        guard topic.hasSuffix(ending), RegisteredApps.apnsTopics.contains(String(topic.dropLast(ending.count))) else {
            throw refuse(request, 400, "TopicDisallowed")
        }
        // A notification that wakes an app must not be urgent.
        let priorities = request.header("apns-push-type") == "background" ? ["1", "5"] : ["1", "5", "10", nil]
        guard priorities.contains(request.header("apns-priority")) else { throw refuse(request, 400, "BadPriority") }
        guard request.header("apns-expiration").map({ Int($0) != nil }) ?? true else {
            throw refuse(request, 400, "BadExpirationDate")
        }
        guard request.header("apns-id").map({ UUID(uuidString: $0) != nil && $0 == $0.lowercased() }) ?? true else {
            throw refuse(request, 400, "BadMessageId")
        }
        guard request.header("apns-collapse-id").map({ $0.utf8.count <= 64 }) ?? true else {
            throw refuse(request, 400, "BadCollapseId")
        }
    }

    private func checkDevice(
        _ token: String, in environment: String, _ request: SandboxRequest
    ) throws(Refusal) {
        guard token.utf8.count >= 8, token.utf8.count.isMultiple(of: 2), token.allSatisfy(\.isHexDigit) else {
            throw refuse(request, 400, "BadDeviceToken")
        }
        let script = server.withState { $0.pushTokens[token] }
        let ending = Self.topicEndings[request.header("apns-push-type") ?? "alert"] ?? ""
        guard request.header("apns-topic") == (script?.topic ?? RegisteredApps.apnsTopic) + ending else {
            throw Refusal(status: 400, reason: "DeviceTokenNotForTopic")
        }
        guard let script else { return }
        if let known = script.environment, known != environment {
            throw Refusal(status: 400, reason: "BadDeviceToken")
        }
        switch server.breaks.contains(.vaguePushErrors) ? .bad : script.outcome {
        case .delivered: return
        case .unregistered: throw Refusal(status: 410, reason: "Unregistered", timestamp: script.since)
        case .bad: throw Refusal(status: 400, reason: "BadDeviceToken")
        case .rateLimited: throw Refusal(status: 429, reason: "TooManyRequests")
        }
    }

    /// An error that a correct client does not cause.
    private func refuse(_ request: SandboxRequest, _ status: Int, _ reason: String) -> Refusal {
        server.note(request, "apns", reason)
        return Refusal(status: status, reason: reason)
    }
}
