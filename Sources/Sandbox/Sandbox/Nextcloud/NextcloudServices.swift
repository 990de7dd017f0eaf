internal import FoundationEssentials

/// The Open Collaboration Services that file clients use: the user's identity, the server's capabilities, and deletion
/// of an app password.
struct NextcloudServices {
    let server: SandboxServer

    /// - Parameter path: the part after `/ocs`.
    func respond(to request: SandboxRequest, path: [String]) throws -> SandboxResponse {
        guard request.header("ocs-apirequest") == "true" else {
            server.note(request, "ocs-apirequest", "the header OCS-APIRequest is missing")
            return reply(412, 997, "CSRF check failed", [:])
        }
        guard ["v1.php", "v2.php"].contains(path.first) else { throw NextcloudError.notFound(request.path) }
        let caller: NextcloudCaller
        do {
            caller = try NextcloudCaller(request, server: server)
        } catch {
            return reply(401, 997, "Current user is not logged in", [:])
        }
        switch (request.method, path.dropFirst().joined(separator: "/")) {
        case ("GET", "cloud/user"):
            let account = caller.account
            return reply(
                200, 200, "OK",
                [
                    "id": .string(account.id), "display-name": .string(account.name),
                    "displayname": .string(account.name), "email": .string(account.email), "enabled": true,
                    "quota": ["quota": .int(account.quotaBytes)], "groups": .array([]), "language": "en",
                ])
        case ("GET", "cloud/capabilities"): return reply(200, 200, "OK", capabilities)
        case ("DELETE", "core/apppassword"):
            try server.changeAccount(caller.account.id) { $0.revoke(caller.token) }
            return reply(200, 200, "OK", [:])
        default: return reply(404, 998, "Invalid query, please check the syntax.", [:])
        }
    }

    private var capabilities: JSONValue {
        [
            "version": [
                "major": 30, "minor": 0, "micro": 4, "string": .string(NextcloudRoutes.version), "edition": "",
            ],
            "capabilities": [
                "core": ["webdav-root": "remote.php/webdav"],
                "dav": ["chunking": "1.0", "bulkupload": "1.0"],
                "files": ["bigfilechunking": true, "undelete": true, "versioning": true],
                "checksums": ["supportedTypes": ["MD5"], "preferredUploadType": "MD5"],
            ],
        ]
    }

    private func reply(_ status: Int, _ code: Int, _ message: String, _ data: JSONValue) -> SandboxResponse {
        SandboxResponse(
            status,
            json: [
                "ocs": [
                    "meta": [
                        "status": .string(code < 300 ? "ok" : "failure"), "statuscode": .int(code),
                        "message": .string(message),
                    ], "data": data,
                ]
            ])
    }
}
