/// The routes about people: a token's owner, storage usage, and revocation of a grant.
struct DropboxUsers {
    let server: SandboxServer

    func respond(to request: SandboxRequest, _ function: String) throws -> SandboxResponse {
        switch function {
        case "users/get_current_account":
            let caller = try DropboxCaller(request, scope: "account_info.read", server: server)
            _ = try DropboxArgument(request, .rpc, members: [], server: server)
            return .dropbox(current(caller.account))
        case "users/get_account":
            _ = try DropboxCaller(request, scope: "account_info.read", server: server)
            let argument = try DropboxArgument(request, .rpc, members: ["account_id"], server: server)
            let id = try argument.text("account_id")
            // As at Dropbox, any token may query any account, so the reply does not identify the caller.
            guard let account = server.withState({ $0.accounts[id] }), account.provider == .dropbox else {
                throw DropboxError.route(["no_account"])
            }
            return .dropbox(.object(basic(account)))
        case "users/get_space_usage":
            let caller = try DropboxCaller(request, scope: "account_info.read", server: server)
            _ = try DropboxArgument(request, .rpc, members: [], server: server)
            let used = server.withState { $0.dropboxes[caller.account.id]?.usedBytes ?? 0 }
            return .dropbox([
                "used": .int(used),
                "allocation": [".tag": "individual", "allocated": .int(caller.account.quotaBytes)],
            ])
        case "check/user":
            _ = try DropboxCaller(request, scope: "account_info.read", server: server)
            let argument = try DropboxArgument(request, .rpc, members: ["query"], server: server)
            return .dropbox(["result": argument["query"] ?? ""])
        default:
            let caller = try DropboxCaller(request, scope: nil, server: server)
            _ = try DropboxArgument(request, .rpc, members: [], server: server)
            try server.changeAccount(caller.account.id) { $0.revoke(caller.token) }
            return .dropbox(.null)
        }
    }

    private func basic(_ account: Account) -> JSONObject {
        let words = account.name.split(separator: " ", maxSplits: 1).map(String.init)
        return [
            "account_id": .string(account.id),
            "name": [
                "given_name": .string(words.first ?? ""), "surname": .string(words.count == 2 ? words[1] : ""),
                "familiar_name": .string(words.first ?? ""), "display_name": .string(account.name),
                "abbreviated_name": .string(words.compactMap(\.first).map(String.init).joined()),
            ],
            "email": .string(account.email), "email_verified": true, "disabled": false, "is_teammate": false,
        ]
    }

    private func current(_ account: Account) -> JSONValue {
        var json = basic(account)
        json["is_teammate"] = nil
        json["locale"] = "en"
        json["referral_link"] = "https://www.dropbox.com/referrals/sandbox"
        json["is_paired"] = false
        json["account_type"] = [".tag": "basic"]
        json["root_info"] = [".tag": "user", "root_namespace_id": "1", "home_namespace_id": "1"]
        return .object(json)
    }
}
