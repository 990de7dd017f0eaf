/// The routes of the phones: `POST /sandbox/people`, and `/sandbox/accounts/ID/phone` with everything below it.
///
/// A form performs its action and redirects to the page, so that a reload repeats nothing.
struct PhoneControl {
    let server: SandboxServer
    private let app: AppServer

    /// - Throws: ``ControlError/notFound(_:)`` if the sandbox was started without a server.
    init(server: SandboxServer) throws(ControlError) {
        self.server = server
        guard let app = server.appServer else { throw .notFound("phones require syncsandbox --server") }
        self.app = app
    }

    /// Adds a person, and redirects to their phone.
    func addPerson(_ request: SandboxRequest) throws -> SandboxResponse {
        let form = try PageForm(request)
        let account = try server.makeAccount(
            try NewAccount(json: ["provider": .string(try form["provider"]), "name": .string(try form["name"])]))
        return Self.redirect(to: account)
    }

    /// Handles a request; `path` follows `/phone`.
    func respond(to request: SandboxRequest, of account: Account, path: [String]) throws -> SandboxResponse {
        let phone = server.withState { state in
            let phone = state.phones[account.id] ?? Phone()
            state.phones[account.id] = phone
            return phone
        }
        var session = PhoneSession(server: server, app: app, account: account, device: phone.device)
        switch (request.method, path.first, path.count) {
        case ("GET", nil, _):
            let groups = Result { try session.groups() }
            return PhonePage(
                app: app, account: account, phone: phone, groups: groups, calls: session.calls,
                invitation: server.withState { $0.newestInvitation }
            ).response()
        case ("GET", "download", 1): return try Self.contents(of: phone.download)
        case ("POST", let action?, 1):
            var phone = Phone(device: phone.device)
            do {
                let sentence = try perform(action, try PageForm(request), &session, &phone)
                phone.outcome = Phone.Outcome(sentence: sentence, isSuccess: true)
            } catch let failure as PhoneSession.Failure {
                phone.outcome = Phone.Outcome(sentence: failure.sentence, isSuccess: false)
            }
            phone.calls = session.calls
            server.withState { [phone] in $0.phones[account.id] = phone }
            return Self.redirect(to: account)
        default: throw ControlError.methodNotAllowed
        }
    }

    private func perform(
        _ action: String, _ form: PageForm, _ session: inout PhoneSession, _ phone: inout Phone
    ) throws -> String {
        switch action {
        case "sign-up": return try session.signUp(group: try form["group"], folder: try form["folder"])
        case "redeem":
            return try session.redeem(try form["invitation"], folder: (try? form["folder"]) ?? "Shared files")
        case "invite":
            let (sentence, code) = try session.invite(to: try form["group"], permission: try form["permission"])
            server.withState { $0.newestInvitation = code }
            return sentence
        case "text":
            return try session.share(Array(try form["text"].utf8), type: "text/plain", in: try form["group"])
        case "file":
            let (contents, type) = try form.file("file")
            return try session.share(contents, type: type, in: try form["group"])
        case "wait": return try session.awaitChange()
        case "download":
            let (sentence, download) = try session.download(try form["file"], of: try form["group"])
            phone.download = download
            return sentence
        default: throw ControlError.notFound("a phone has no action \(action)")
        }
    }

    /// The download, if it is a picture, for an `img`.
    private static func contents(of download: Phone.Download?) throws(ControlError) -> SandboxResponse {
        guard let download, case .picture(let type) = download.shown.content else {
            throw .notFound("no picture was downloaded")
        }
        return SandboxResponse(
            200,
            headers: [
                ("Content-Type", type), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"),
                ("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
            ], body: download.bytes)
    }

    private static func redirect(to account: Account) -> SandboxResponse {
        SandboxResponse(303, headers: [("Location", PageLayout.address(of: account) + "phone")])
    }
}

extension Phone.Download {
    /// The amount of text shown of a download, in bytes.
    private static let shownBytes = 65_536

    /// How the page displays it, and whether that is all of it.
    var shown: (content: ShownContent, isWhole: Bool) {
        let isWhole = bytes.count <= Self.shownBytes
        return (
            ShownContent(mimeType: mimeType, beginning: bytes.prefix(Self.shownBytes), isWhole: isWhole), isWhole
        )
    }
}
