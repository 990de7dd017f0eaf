import FoundationEssentials
import OpenSSLCrypto

/// The routes of `graph.facebook.com` for sign-in: `/me`, `/debug_token` and `/oauth/access_token`, each with or
/// without a version (`/v25.0/…`).
struct FacebookGraph {
    let server: SandboxServer
    /// Lifetime of a token from a phone's sign-in, in seconds.
    static let shortLifeSeconds = 7_200.0
    /// Lifetime of a long-lived token: about 60 days.
    static let longLifeSeconds = 5_184_000.0

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        var segments = request.segments
        if let first = segments.first, first.hasPrefix("v"), Double(first.dropFirst()) != nil { segments.removeFirst() }
        do {
            switch segments {
            case ["me"]:
                try requireGet(request)
                return try profile(request)
            case ["debug_token"]:
                try requireGet(request)
                return try debug(request)
            case ["oauth", "access_token"]: return try exchange(request)
            default:
                server.note(request, "unknown-route", "the sandbox's Graph API has no \(request.path)")
                throw FacebookError.badRequest(2500, "Unknown path components: \(request.path)")
            }
        } catch let error as FacebookError {
            return error.response
        }
    }

    private func requireGet(_ request: SandboxRequest) throws(FacebookError) {
        guard request.method == "GET" else {
            server.note(request, "method", "\(request.method) is not a method of this route")
            throw .badRequest(100, "Unsupported \(request.method.lowercased()) request.")
        }
    }

    /// The account of a valid user token.
    private func signedIn(_ value: String) throws(FacebookError) -> (account: Account, token: AccessToken) {
        guard let found = server.withState({ $0.accessToken(value) }), found.account.provider == .facebook else {
            throw .badRequest(190, "Invalid OAuth access token - Cannot parse access token")
        }
        if found.token.isRevoked {
            throw .badRequest(
                190, "Error validating access token: The user has not authorized application \(found.token.audience).",
                subcode: 458)
        }
        let now = server.now
        if found.token.expiresAt <= now { throw expired(found.token, now) }
        return found
    }

    private func expired(_ token: AccessToken, _ now: Date) -> FacebookError {
        .badRequest(
            190,
            "Error validating access token: Session has expired on \(token.expiresAt.text). The current time is \(now.text).",
            subcode: 463)
    }

    private func profile(_ request: SandboxRequest) throws(FacebookError) -> SandboxResponse {
        guard let value = request.query["access_token"] ?? request.bearerToken else {
            throw .badRequest(2500, "An active access token must be used to query information about the current user.")
        }
        let (account, token) = try signedIn(value)
        if let proof = request.query["appsecret_proof"] {
            // The secret of a foreign app is unknown, so no proof for its tokens can be right.
            let expected = hmacSHA256(key: Array(RegisteredApps.facebookSecret.utf8), message: Array(value.utf8))
            guard token.audience == RegisteredApps.facebookAppID, proof == expected.hexLowercase else {
                throw .badRequest(100, "Invalid appsecret_proof provided in the API argument")
            }
        }
        var fields: JSONObject = [:]
        for field in (request.query["fields"] ?? "id,name").split(separator: ",") {
            switch field {
            case "id": break
            case "name": fields["name"] = .string(account.name)
            case "email": fields["email"] = .string(account.email)
            case "first_name": fields["first_name"] = .string(String(account.name.prefix { $0 != " " }))
            case "picture":
                fields["picture"] = ["data": ["height": 50, "width": 50, "is_silhouette": true, "url": ""]]
            default:
                throw .badRequest(
                    100, "(#100) Tried accessing nonexisting field (\(field)) on node type (User)")
            }
        }
        fields["id"] = .string(account.id)
        return SandboxResponse(200, json: .object(fields))
    }

    private func debug(_ request: SandboxRequest) throws(FacebookError) -> SandboxResponse {
        let appToken = RegisteredApps.facebookAppID + "|" + RegisteredApps.facebookSecret
        guard let caller = request.query["access_token"] ?? request.bearerToken else {
            throw .badRequest(100, "(#100) You must provide an app access token, or a user access token")
        }
        guard caller == appToken else {
            server.note(request, "app-token", "access_token is not APP-ID|APP-SECRET of the registered app")
            throw .badRequest(190, "Invalid OAuth access token signature.")
        }
        guard let value = request.query["input_token"] else {
            throw .badRequest(100, "(#100) The parameter input_token is required")
        }
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .facebook else {
            return SandboxResponse(
                200,
                json: [
                    "data": [
                        "error": ["code": 190, "message": "Invalid OAuth access token."], "is_valid": false,
                        "scopes": [],
                    ]
                ])
        }
        guard token.audience == RegisteredApps.facebookAppID else {
            throw .badRequest(100, "(#100) The App_id in the input_token did not match the Viewing App")
        }
        let now = server.now
        var data: JSONObject = [
            "app_id": .string(token.audience), "type": .string(account.tokenType), "application": "Sandbox app",
            "data_access_expires_at": .int(token.issuedAt.unixSeconds + 7_776_000),
        ]
        if token.isRevoked || token.expiresAt <= now {
            data["error"] = [
                "code": 190, "message": .string(expired(token, now).message),
                "subcode": token.isRevoked ? 458 : 463,
            ]
        }
        data["expires_at"] = .int(token.expiresAt.unixSeconds)
        data["is_valid"] = .bool(!token.isRevoked && token.expiresAt > now)
        data["issued_at"] = .int(token.issuedAt.unixSeconds)
        data["scopes"] = .array(account.scopes.map { .string($0) })
        data["granular_scopes"] = []
        data["user_id"] = .string(account.id)
        return SandboxResponse(200, json: ["data": .object(data)])
    }

    private func exchange(_ request: SandboxRequest) throws -> SandboxResponse {
        let parameters = try request.method == "POST" ? request.readForm() ?? request.query : request.query
        guard parameters["grant_type"] == "fb_exchange_token" else {
            throw FacebookError.badRequest(100, "The sandbox supports only grant_type fb_exchange_token")
        }
        guard parameters["client_id"] == RegisteredApps.facebookAppID else {
            server.note(request, "client-id", "client_id is not the registered app")
            throw FacebookError.badRequest(
                101, "Error validating application. Cannot get application info due to a system error.")
        }
        guard parameters["client_secret"] == RegisteredApps.facebookSecret else {
            server.note(request, "client-secret", "client_secret is wrong")
            throw FacebookError.badRequest(1, "Error validating client secret.")
        }
        guard let value = parameters["fb_exchange_token"] else {
            throw FacebookError.badRequest(1, "fb_exchange_token parameter not specified")
        }
        var (account, token) = try signedIn(value)
        guard token.audience == RegisteredApps.facebookAppID else {
            throw FacebookError.badRequest(
                1, "The access token does not belong to application \(RegisteredApps.facebookAppID)")
        }
        let now = server.now
        let long = AccessToken(
            value: "EAAB" + RandomText.token(180).filter { $0 != "-" && $0 != "_" }, holder: .server,
            audience: token.audience, issuedAt: now, expiresAt: now.addingTimeInterval(Self.longLifeSeconds))
        account = try server.changeAccount(account.id) { $0.add(long) }
        return SandboxResponse(
            200,
            json: [
                "access_token": .string(long.value), "token_type": "bearer",
                "expires_in": .int(Int(Self.longLifeSeconds)),
            ])
    }
}

/// Facebook's Limited Login: the app receives an identity token instead of an access token ("Limited Login",
/// "Validating the OIDC Token").
struct FacebookLimitedLogin {
    static let host = "limited.facebook.com"
    /// The `tokenType` of accounts that sign in like this.
    static let tokenType = "LIMITED"
    /// Lifetime of a token, in seconds.
    static let lifeSeconds = 3_600.0
    private static let keysPath = "/.well-known/oauth/openid/jwks/"

    let server: SandboxServer

    /// Handles a request.
    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        switch (request.method, request.path) {
        case ("GET", Self.keysPath):
            return SandboxResponse(
                200, json: try server.facebookKeys.published(0), headers: [("Cache-Control", "max-age=300")])
        case ("GET", "/.well-known/openid-configuration/"):
            return SandboxResponse(
                200,
                json: [
                    "issuer": "https://www.facebook.com", "jwks_uri": .string("https://\(Self.host)\(Self.keysPath)"),
                    "response_types_supported": ["id_token"], "subject_types_supported": ["pairwise"],
                    "id_token_signing_alg_values_supported": ["RS256"],
                ])
        default:
            server.note(
                request, "unknown-route", "the sandbox's Limited Login has no \(request.method) \(request.path)")
            return SandboxResponse(404)
        }
    }

    /// An identity token of `account`, issued now.
    func identityToken(of account: Account) throws -> String {
        let now = server.now
        return try server.facebookKeys.key(0).sign([
            "iss": "https://www.facebook.com", "aud": .string(account.audience), "sub": .string(account.id),
            "iat": .int(now.unixSeconds), "exp": .int(now.addingTimeInterval(Self.lifeSeconds).unixSeconds),
            "jti": .string(RandomText.token(22)), "nonce": .string(RandomText.token(22)),
            "name": .string(account.name), "email": .string(account.email),
        ])
    }
}

/// An error of Facebook's Graph API.
struct FacebookError: Error, Equatable {
    /// HTTP status, usually 400.
    let status: Int
    /// 190: the access token; 100: a parameter; 4: throttled; 2: transient; 101 and 1: the app.
    let code: Int
    /// With 190: 458 app removed, 463 expired, 467 invalid.
    let subcode: Int?
    let message: String

    /// An error of status 400.
    static func badRequest(_ code: Int, _ message: String, subcode: Int? = nil) -> FacebookError {
        FacebookError(status: 400, code: code, subcode: subcode, message: message)
    }

    /// The error object inside a body.
    var json: JSONValue {
        var error: JSONObject = ["message": .string(message), "type": "OAuthException", "code": .int(code)]
        error["error_subcode"] = .int(subcode)
        error["fbtrace_id"] = .string("A" + RandomText.token(22))
        return .object(error)
    }

    /// The response.
    var response: SandboxResponse {
        SandboxResponse(
            status, json: ["error": json],
            headers: status == 401 ? [("WWW-Authenticate", "OAuth \"Facebook Platform\" \"invalid_token\"")] : [])
    }
}
