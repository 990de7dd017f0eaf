internal import FoundationEssentials
internal import OpenSSLCrypto

/// The actions of a person with a phone: each consists of a few requests to the server, as an app sends them
/// (docs/protocol.md), and ends with a sentence. The requests are kept for display on the page.
struct PhoneSession {
    /// The longest file that is sent or received, in bytes: it is held in memory.
    static let longestFile = 20_000_000

    let server: SandboxServer
    let app: AppServer
    let account: Account
    let device: String
    private(set) var calls: [PhoneCall] = []

    /// A session of the account's phone.
    init(server: SandboxServer, app: AppServer, account: Account, device: String) {
        self.server = server
        self.app = app
        self.account = account
        self.device = device
    }

    /// A failed action, with a sentence for the person.
    struct Failure: Error {
        let sentence: String
    }

    /// One of the person's groups, with its files.
    struct Group {
        let json: JSONValue
        let masterVersion: Int
        let files: [JSONValue]

        var uuid: String { json["sharingGroupUUID"]?.string ?? "" }
    }

    /// The person's groups; `nil` if the server does not know the person.
    mutating func groups() throws -> [Group]? {
        let credentials = try call("GET", "CheckCreds")
        if credentials.status == 401 { return nil }
        _ = try Self.success(credentials)
        let list = try ask("GET", "Index")["sharingGroups"]?.array ?? []
        return try list.filter { $0["deleted"]?.bool != true }.map { group in
            let index = try ask("GET", "Index", ["sharingGroupUUID": group["sharingGroupUUID"]?.string ?? ""])
            return Group(
                json: group, masterVersion: index["masterVersion"]?.int ?? 0,
                files: (index["fileIndex"]?.array ?? []).filter { $0["deleted"]?.bool != true })
        }
    }

    /// Makes the person a user with storage and a first group.
    mutating func signUp(group name: String, folder: String) throws -> String {
        _ = try ask(
            "POST", "AddUser",
            ["sharingGroupUUID": UUID().uuidString, "sharingGroupName": name, "cloudFolderName": folder])
        return "\(account.name) has signed up. Files are stored at \(account.provider.title)."
    }

    /// Makes the person a member of the invitation's group, and a user if necessary.
    mutating func redeem(_ invitation: String, folder: String) throws -> String {
        let offer = try ask("GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": invitation])
        _ = try ask(
            "POST", "RedeemSharingInvitation",
            ["sharingInvitationUUID": invitation, "cloudFolderName": account.provider.hasStorage ? folder : nil])
        let permission = offer["permission"]?.string ?? ""
        let group = offer["sharingGroupName"]?.string.map { "“\($0)”" } ?? "the group"
        let inviter = offer["invitingUserName"]?.string.map { " of \($0)" } ?? ""
        return "\(account.name) is now a member of \(group)\(inviter), with the permission “\(permission)”."
    }

    /// Invites one person; returns a sentence and the code.
    mutating func invite(to group: String, permission: String) throws -> (sentence: String, code: String) {
        let reply = try ask("POST", "CreateSharingInvitation", ["sharingGroupUUID": group, "permission": permission])
        guard let code = reply["sharingInvitationUUID"]?.string else {
            throw Failure(sentence: "The reply contains no invitation.")
        }
        return ("The invitation is \(code). The other phones on this page suggest it.", code)
    }

    /// Uploads a new file and commits it, so that all members see it.
    mutating func share(_ contents: [UInt8], type: String, in group: String) throws -> String {
        let index = try ask("GET", "Index", ["sharingGroupUUID": group])
        let version = index["masterVersion"]?.int ?? 0
        let listed = index["sharingGroups"]?.array?.first { $0["sharingGroupUUID"]?.string == group }
        let upload = try ask(
            "POST", "UploadFile",
            [
                "fileUUID": UUID().uuidString, "fileVersion": "0", "mimeType": type, "masterVersion": "\(version)",
                "sharingGroupUUID": group,
                "checkSum": try checksum(of: contents, listed?["cloudStorageType"]?.string),
            ], body: contents)
        try Self.requireCurrent(upload)
        let commit = try ask(
            "POST", "DoneUploads", ["masterVersion": "\(version)", "sharingGroupUUID": group])
        try Self.requireCurrent(commit)
        return "\(PageText.size(contents.count)) uploaded and committed: every member of the group sees the file."
    }

    /// Downloads a file of a group.
    mutating func download(_ file: String, of group: String) throws -> (sentence: String, download: Phone.Download) {
        let index = try ask("GET", "Index", ["sharingGroupUUID": group])
        guard let listed = index["fileIndex"]?.array?.first(where: { $0["fileUUID"]?.string == file }) else {
            throw Failure(sentence: "The group no longer has this file.")
        }
        let reply = try call(
            "GET", "DownloadFile",
            [
                "fileUUID": file, "fileVersion": "\(listed["fileVersion"]?.int ?? 0)",
                "masterVersion": "\(index["masterVersion"]?.int ?? 0)", "sharingGroupUUID": group,
                "appMetaDataVersion": listed["appMetaDataVersion"]?.int.map { "\($0)" },
            ])
        let message = try Self.success(reply)
        try Self.requireCurrent(message)
        if let gone = message["gone"]?.string { throw Failure(sentence: "The file is gone: \(gone).") }
        let bytes = try reply.outcome.get().body
        let expected = message["checkSum"]?.string ?? ""
        guard try checksum(of: bytes, message["cloudStorageType"]?.string).lowercased() == expected.lowercased() else {
            throw Failure(sentence: "The checksum of the bytes differs from the one that the server announced.")
        }
        return (
            "\(PageText.size(bytes.count)) arrived, with the checksum that the server announced.",
            Phone.Download(file: file, mimeType: listed["mimeType"]?.string ?? "", bytes: bytes)
        )
    }

    /// Waits until a member of one of the person's groups changes something, 50 s at most: the long poll of an app that
    /// cannot read streams (docs/protocol.md, section 8.39).
    mutating func awaitChange() throws -> String {
        let present = try call("GET", "Changes")
        guard present.status != 404 else {
            throw Failure(sentence: "The server does not report changes; syncctl setup --changes turns that on.")
        }
        let known = try Self.success(present)["lastEventId"]?.string
        let reply = try call("GET", "Changes", headers: known.map { [("Last-Event-ID", $0)] } ?? [])
        guard reply.status != 408 else { return "Nobody has changed anything meanwhile. Wait again." }
        let change = try Self.success(reply)
        guard let version = change["masterVersion"]?.int else { return "Something has changed." }
        return "The server has reported a change: a group now has master version \(version)."
    }

    /// A request that must succeed; returns the reply's JSON.
    private mutating func ask(
        _ method: String, _ endpoint: String, _ parameters: [String: String?] = [:], body: [UInt8] = []
    ) throws -> JSONValue {
        try Self.success(try call(method, endpoint, parameters, body: body))
    }

    /// One request with the current credentials; returns a reply with any status.
    private mutating func call(
        _ method: String, _ endpoint: String, _ parameters: [String: String?] = [:], body: [UInt8] = [],
        headers more: [(name: String, value: String)] = []
    ) throws -> PhoneCall {
        guard let signedIn = try server.signedInAccount(account.id) else {
            throw Failure(sentence: "The account is gone.")
        }
        var headers = AccountControl(server: server).headers(of: signedIn)
        headers += more + [("SyncServer-Device-UUID", device)]
        let query = parameters.sorted { $0.key < $1.key }.compactMap { name, value in
            value.map { name + "=" + PercentEncoding.encode($0) }
        }
        let target = "/\(endpoint)/" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        let request = AppServer.Request(
            method: method, url: app.address + target, headers: headers, body: body, replyLimit: Self.longestFile)
        let outcome = Result { () throws(AppServer.Unreachable) in try app.send(request) }
        let call = PhoneCall(
            method: method, target: target, headers: headers, sentBytes: body.count, outcome: outcome)
        calls.append(call)
        return call
    }

    private static func success(_ call: PhoneCall) throws -> JSONValue {
        switch call.outcome {
        case .success(let reply) where reply.status == 200:
            guard let json = call.json else { throw Failure(sentence: "The reply is not JSON.") }
            return json
        case .success(let reply):
            let text = call.json?["message"]?.string ?? call.json?["code"]?.string
            throw Failure(sentence: "The server replied with \(reply.status)\(text.map { ": " + $0 } ?? "").")
        case .failure(let error): throw Failure(sentence: "The server cannot be reached: \(error.reason)")
        }
    }

    private static func requireCurrent(_ reply: JSONValue) throws {
        guard reply["masterVersionUpdate"] == nil else {
            throw Failure(sentence: "The group has just changed; nothing was done. Try again.")
        }
    }

    /// The checksum of the kind that the owner's storage uses: the person's own, or the named one.
    private func checksum(of contents: [UInt8], _ storageType: String?) throws -> String {
        let own: String? =
            switch account.provider {
            case .google, .webdav: "Google"
            case .dropbox: "Dropbox"
            case .microsoft: "Microsoft"
            case .facebook, .apple: nil
            }
        switch storageType ?? own {
        case "Google", "WebDAV", "S3": return IncrementalDigest.digest(of: contents, .md5).hexLowercase
        case "Microsoft": return IncrementalDigest.digest(of: contents, .sha1).hexUppercase
        case "Dropbox":
            let blockBytes = 4 << 20
            let digests = stride(from: 0, to: contents.count, by: blockBytes).flatMap { start in
                IncrementalDigest.digest(of: Array(contents[start...].prefix(blockBytes)), .sha256)
            }
            return IncrementalDigest.digest(of: digests, .sha256).hexLowercase
        case let type: throw Failure(sentence: "The group's storage is of an unknown kind: \(type ?? "none").")
        }
    }
}
