internal import FoundationEssentials

extension Account {
    /// The account in its stored form.
    var json: JSONValue {
        [
            "id": .string(id), "provider": .string(provider.rawValue), "name": .string(name), "email": .string(email),
            "createdAt": createdAt.json, "audience": .string(audience),
            "scopes": .array(scopes.map { .string($0) }), "tokenType": .string(tokenType),
            "idTokenAssertions": .bool(acceptsIDTokenAssertions),
            "oneDrive": .string(oneDriveState.rawValue), "quotaBytes": .int(quotaBytes),
            "hasConsented": .bool(hasConsented),
            "accessTokens": .array(
                accessTokens.map {
                    [
                        "value": .string($0.value), "holder": .string($0.holder.rawValue),
                        "audience": .string($0.audience), "issuedAt": $0.issuedAt.json,
                        "expiresAt": $0.expiresAt.json, "isRevoked": .bool($0.isRevoked),
                        "scopes": $0.scopes.map { .array($0.map { .string($0) }) } ?? .null,
                        "refreshToken": .string($0.refreshToken) ?? .null,
                    ]
                }),
            "refreshTokens": .array(
                refreshTokens.map {
                    [
                        "value": .string($0.value), "clientID": .string($0.clientID),
                        "holder": .string($0.holder.rawValue), "isRevoked": .bool($0.isRevoked),
                        "predecessor": .string($0.predecessor) ?? .null,
                        "scopes": $0.scopes.map { .array($0.map { .string($0) }) } ?? .null,
                    ]
                }),
            "codes": .array(
                codes.map { code in
                    var json: JSONObject = [
                        "value": .string(code.value), "clientID": .string(code.clientID),
                        "expiresAt": code.expiresAt.json, "promptsConsent": .bool(code.promptsConsent),
                        "isUsed": .bool(code.isUsed),
                    ]
                    json["challenge"] = .string(code.challenge?.value)
                    json["challengeMethod"] = .string(code.challenge?.method.rawValue)
                    json["scopes"] = code.scopes.map { .array($0.map { .string($0) }) }
                    json["isOffline"] = .bool(code.isOffline)
                    json["redirect"] = .string(code.redirect)
                    return .object(json)
                }),
        ]
    }

    /// An account from its stored form; `nil` if a member is missing.
    init?(json: JSONValue) {
        guard let id = json["id"]?.string, let provider = json["provider"]?.string.flatMap(Provider.init(rawValue:)),
            let name = json["name"]?.string, let email = json["email"]?.string,
            let createdAt = Date(json: json["createdAt"]), let audience = json["audience"]?.string
        else { return nil }
        self.init(
            id: id, provider: provider, name: name, email: email, createdAt: createdAt, audience: audience,
            scopes: json["scopes"]?.array?.compactMap(\.string) ?? [], tokenType: json["tokenType"]?.string ?? "USER",
            acceptsIDTokenAssertions: json["idTokenAssertions"]?.bool ?? false,
            oneDriveState: json["oneDrive"]?.string.flatMap(OneDriveState.init(rawValue:)) ?? .ready,
            quotaBytes: json["quotaBytes"]?.int ?? 0, hasConsented: json["hasConsented"]?.bool ?? false)
        accessTokens = (json["accessTokens"]?.array ?? []).compactMap { token in
            guard let value = token["value"]?.string, let audience = token["audience"]?.string,
                let holder = token["holder"]?.string.flatMap(TokenHolder.init(rawValue:)),
                let issuedAt = Date(json: token["issuedAt"]), let expiresAt = Date(json: token["expiresAt"])
            else { return nil }
            return AccessToken(
                value: value, holder: holder, audience: audience, issuedAt: issuedAt, expiresAt: expiresAt,
                isRevoked: token["isRevoked"]?.bool ?? false,
                scopes: token["scopes"]?.array?.compactMap(\.string), refreshToken: token["refreshToken"]?.string)
        }
        refreshTokens = (json["refreshTokens"]?.array ?? []).compactMap { token in
            guard let value = token["value"]?.string, let clientID = token["clientID"]?.string,
                let holder = token["holder"]?.string.flatMap(TokenHolder.init(rawValue:))
            else { return nil }
            return RefreshToken(
                value: value, clientID: clientID, holder: holder, isRevoked: token["isRevoked"]?.bool ?? false,
                scopes: token["scopes"]?.array?.compactMap(\.string), predecessor: token["predecessor"]?.string)
        }
        codes = (json["codes"]?.array ?? []).compactMap { code in
            guard let value = code["value"]?.string, let clientID = code["clientID"]?.string,
                let expiresAt = Date(json: code["expiresAt"])
            else { return nil }
            return AuthorizationCode(
                value: value, clientID: clientID, expiresAt: expiresAt,
                promptsConsent: code["promptsConsent"]?.bool ?? false, challenge: CodeChallenge(json: code),
                redirect: code["redirect"]?.string, scopes: code["scopes"]?.array?.compactMap(\.string),
                isOffline: code["isOffline"]?.bool ?? true, isUsed: code["isUsed"]?.bool ?? false)
        }
    }
}

extension CodeChallenge {
    /// The challenge among the members of a stored code.
    fileprivate init?(json code: JSONValue) {
        guard let value = code["challenge"]?.string else { return nil }
        self.init(value, method: code["challengeMethod"]?.string.flatMap(Method.init(rawValue:)) ?? .s256)
    }
}

extension Date {
    /// The time in the providers' format: `2026-11-21T07:46:21.123Z`.
    var text: String {
        formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// The time as JSON.
    var json: JSONValue { .string(text) }

    /// Whole seconds since 1970.
    var unixSeconds: Int { Int(timeIntervalSince1970.rounded(.down)) }

    /// A time in RFC 3339 form, with or without a fraction, a zone, or a time of day.
    init?(text: String) {
        let candidates = [
            Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle(),
        ]
        for form in [text, text + "Z", text + "T00:00:00Z"] {
            for style in candidates {
                if let date = try? style.parse(form) {
                    self = date
                    return
                }
            }
        }
        return nil
    }

    /// A time in the format of ``json``.
    init?(json: JSONValue?) {
        guard let text = json?.string else { return nil }
        self.init(text: text)
    }
}
