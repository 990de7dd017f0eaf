internal import FoundationEssentials

/// The caller of a request, identified by a user name or email address and an app password (RFC 7617), or by a bearer
/// token.
struct NextcloudCaller {
    /// How long a wrong password must not be tried again: real servers slow down all callers from that address.
    private static let patienceSeconds = 30.0
    private static let patientTries = 5

    let account: Account
    let token: AccessToken

    init(_ request: SandboxRequest, server: SandboxServer) throws(NextcloudError) {
        guard let (name, password) = Self.credentials(request) else { throw .notAuthenticated }
        let now = server.now
        guard !server.withState({ $0.turnsAway(request.peer, at: now) }) else { throw .tooManyRequests }
        guard let (account, token) = server.withState({ $0.accessToken(password) }), account.provider == .webdav,
            !token.isRevoked, token.expiresAt > now, name.map({ $0 == account.id || $0 == account.email }) ?? true
        else {
            Self.noteWrongPassword(password, request, server)
            throw .notAuthenticated
        }
        self.account = account
        self.token = token
    }

    /// The caller of a request for a user's files, which everybody may read if so configured.
    init(_ request: SandboxRequest, reading user: String?, server: SandboxServer) throws(NextcloudError) {
        let isOpen = server.withState { $0.settings.hasOpenReads }
        guard isOpen, ["PROPFIND", "GET", "HEAD"].contains(request.method), let user,
            let account = server.withState({ $0.accounts[user] }), account.provider == .webdav,
            let token = account.accessTokens.last
        else {
            try self.init(request, server: server)
            return
        }
        self.init(account: account, token: token)
    }

    private init(account: Account, token: AccessToken) {
        self.account = account
        self.token = token
    }

    private static func credentials(_ request: SandboxRequest) -> (name: String?, password: String)? {
        if let token = request.bearerToken { return (nil, token) }
        let words = (request.header("authorization") ?? "").split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic", let data = Data(base64Encoded: String(words[1])),
            let text = String(validating: data, as: UTF8.self), let colon = text.firstIndex(of: ":")
        else { return nil }
        return (String(text[..<colon]), String(text[text.index(after: colon)...]))
    }

    private static func noteWrongPassword(_ password: String, _ request: SandboxRequest, _ server: SandboxServer) {
        let now = server.now
        let tries = server.withState { state in
            let recent = state.wrongPasswords[password, default: []].filter {
                now.timeIntervalSince($0) < patienceSeconds
            }
            state.wrongPasswords[password] = recent + [now]
            state.wrongPasswordTimes[request.peer, default: []].append(now)
            return recent.count + 1
        }
        if tries > patientTries {
            server.note(request, "wrong-password", "a wrong password was tried \(tries) times within seconds")
        }
    }
}

extension SandboxState {
    /// Whether too many wrong passwords have recently come from an address (Nextcloud, `Bruteforce\Throttler`).
    mutating func turnsAway(_ peer: String, at now: Date) -> Bool {
        guard settings.toleratedPasswords > 0 else {
            wrongPasswordTimes = [:]
            return false
        }
        let recent = wrongPasswordTimes[peer, default: []].filter { now.timeIntervalSince($0) < 1_800 }
        wrongPasswordTimes[peer] = recent
        return recent.count >= settings.toleratedPasswords
    }
}
