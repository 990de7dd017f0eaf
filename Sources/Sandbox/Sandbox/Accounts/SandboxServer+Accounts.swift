internal import FoundationEssentials

extension Account {
    /// The number of tokens kept per account; as at the providers, the oldest are dropped if there are more.
    private static let tokensKept = 100

    /// Adds an access token.
    mutating func add(_ token: AccessToken) {
        accessTokens.append(token)
        if accessTokens.count > Self.tokensKept { accessTokens.removeFirst(accessTokens.count - Self.tokensKept) }
    }

    /// Adds a refresh token.
    mutating func add(_ token: RefreshToken) {
        refreshTokens.append(token)
        if refreshTokens.count > Self.tokensKept { refreshTokens.removeFirst(refreshTokens.count - Self.tokensKept) }
    }

    /// Adds a code.
    mutating func add(_ code: AuthorizationCode) {
        codes.append(code)
        if codes.count > Self.tokensKept { codes.removeFirst(codes.count - Self.tokensKept) }
    }

    /// Signs in on the device at `now`, if the last sign-in is no longer usable. A usable sign-in has a token that
    /// stays valid for a while and, for Google, an unused code.
    /// - Returns: whether anything was created.
    mutating func signInIfNeeded(at now: Date, keys: IdentityTokenKeys.Current) -> Bool {
        var hasChanged = false
        // A token that expires within a minute would hardly help the caller.
        let soon = now.addingTimeInterval(60)
        switch provider {
        case .google:
            if deviceToken(at: soon) == nil {
                add(GoogleOAuth.accessToken(for: audience, holder: .device, at: now))
                hasChanged = true
            }
            if freshCode(at: soon) == nil {
                add(GoogleOAuth.code(for: self, promptsConsent: false, at: now))
                hasChanged = true
            }
        case .facebook:
            if tokenType != FacebookLimitedLogin.tokenType, deviceToken(at: soon) == nil {
                add(
                    AccessToken(
                        value: "EAAB" + RandomText.token(120).filter { $0 != "-" && $0 != "_" }, holder: .device,
                        audience: audience, issuedAt: now,
                        expiresAt: now.addingTimeInterval(FacebookGraph.shortLifeSeconds)))
                hasChanged = true
            }
        case .apple: hasChanged = AppleTokens.signIn(&self, at: now, soon: soon)
        case .microsoft: hasChanged = MicrosoftOAuth.signIn(&self, at: now, soon: soon, keys: keys)
        case .dropbox:
            if deviceToken(at: soon) == nil {
                add(DropboxOAuth.accessToken(for: audience, holder: .device, at: now))
                hasChanged = true
            }
            if freshCode(at: soon) == nil {
                add(DropboxOAuth.code(for: self, at: now))
                hasChanged = true
            }
        case .webdav:
            if deviceToken(at: soon) == nil {
                add(Account.nextcloudAppPassword(holder: .device, at: now))
                hasChanged = true
            }
            if programToken(at: soon) == nil {
                add(
                    NextcloudOAuth.accessToken(
                        for: RegisteredApps.nextcloudProgramClientID, holder: .program, at: now))
                hasChanged = true
            }
        }
        return hasChanged
    }
}

extension SandboxServer {
    /// An ID in the format of the provider's account IDs.
    private static func newAccountID(_ request: NewAccount) -> String {
        switch request.provider {
        case .google: RandomText.number(21)
        case .microsoft: MicrosoftOAuth.newAccountID(isWork: request.tokenType == Account.organisationTokenType)
        case .apple: AppleTokens.userID()
        case .dropbox: "dbid:" + RandomText.token(35)
        case .facebook: RandomText.number(17)
        case .webdav:
            (request.name.lowercased().split(separator: " ").first ?? "").filter(\.isASCII) + RandomText.number(6)
        }
    }

    /// Creates an account, signed in on a device.
    func makeAccount(_ request: NewAccount) throws(StorageError) -> Account {
        let time = now
        let keys = try microsoftKeys()
        // Creates the keys now, since that takes longer than a server waits for a reply.
        if request.provider == .apple { try appleKeys.prepare() }
        var account = Account(
            id: Self.newAccountID(request), provider: request.provider,
            name: request.name, email: request.email, createdAt: time, audience: request.audience,
            scopes: request.scopes, tokenType: request.tokenType,
            acceptsIDTokenAssertions: request.acceptsIDTokenAssertions, oneDriveState: request.oneDriveState,
            quotaBytes: request.quotaBytes)
        _ = account.signInIfNeeded(at: time, keys: keys)
        // For clients that are not the app's server, such as independent checks with the provider's own libraries.
        if account.provider == .google {
            account.add(
                RefreshToken(
                    value: GoogleOAuth.refreshTokenText(),
                    clientID: RegisteredApps.serverClientID(for: account.audience), holder: .server))
        } else if account.provider == .dropbox {
            account.add(
                RefreshToken(value: DropboxOAuth.refreshTokenText(), clientID: account.audience, holder: .server))
        }
        try directory.makeFolders(of: account.id)
        let made = account
        try withState { state throws(StorageError) in
            try directory.write(entry: made, to: directory.accountFile(made.id))
            try state.openStorage(of: made, in: directory, at: time)
            state.put(made)
        }
        return made
    }

    /// Changes an account, in memory and on disk.
    /// - Returns: the account after the change.
    @discardableResult
    func changeAccount(_ id: String, _ change: (inout Account) -> Void) throws(StorageError) -> Account {
        try withState { state throws(StorageError) in
            guard var account = state.accounts[id] else { throw StorageError(description: "account \(id) is gone") }
            change(&account)
            try directory.write(entry: account, to: directory.accountFile(id))
            state.put(account)
            return account
        }
    }

    /// The account with valid credentials: an expired device token or a used code is replaced.
    func signedInAccount(_ id: String) throws(StorageError) -> Account? {
        let time = now
        let keys = try microsoftKeys()
        return try withState { state throws(StorageError) -> Account? in
            guard var account = state.accounts[id] else { return nil }
            if account.signInIfNeeded(at: time, keys: keys) {
                try directory.write(entry: account, to: directory.accountFile(id))
                state.put(account)
            }
            return account
        }
    }
}

/// The parameters of a new account.
struct NewAccount: Sendable {
    let provider: Provider
    let name: String
    let email: String
    let audience: String
    let scopes: [String]
    let tokenType: String
    let acceptsIDTokenAssertions: Bool
    let oneDriveState: OneDriveState
    let quotaBytes: Int
}

extension SandboxState {
    /// Restores the contents of the state directory, including unfinished uploads.
    init(restoredFrom directory: StateDirectory) throws(StorageError) {
        self.init()
        if let json = directory.readJSON(directory.settingsPath) { settings.merge(json) }
        var restored: [Account] = []
        for name in try directory.names(in: "accounts") {
            guard let account = directory.read(Account.self, directory.accountFile(name)) else { continue }
            restored.append(account)
            try openStorage(of: account, in: directory, at: Date())
        }
        for account in restored.sorted(by: { $0.createdAt < $1.createdAt }) { put(account) }
        for name in try directory.names(in: "uploads", suffix: ".json") {
            let path = directory.uploadFile(name)
            if let session = directory.read(DropboxUploadSession.self, path) {
                dropboxUploads[session.id] = session
            } else if let json = directory.readJSON(path) {
                uploads[name] = UploadSession(id: name, json: json, in: directory)
            }
        }
    }

    /// Restores an account's files from disk; a new account has only its root.
    fileprivate mutating func openStorage(
        of account: Account, in directory: StateDirectory, at time: Date
    ) throws(StorageError) {
        let id = account.id
        switch account.provider {
        case .google: drives[id] = try Drive(of: id, in: directory) { .root(at: time) }
        case .microsoft: oneDrives[id] = try OneDrive(of: id, in: directory) { .root(at: time) }
        case .dropbox: dropboxes[id] = try DropboxFolder(of: id, in: directory)
        case .webdav:
            let next = nextcloudFileID + 1
            let files = try NextcloudFiles(of: id, in: directory) { NextcloudEntry(fileID: next, path: "", at: time) }
            nextcloudFileID = max(nextcloudFileID, files.nextSequence - 1)
            nextclouds[id] = files
        case .facebook, .apple: break
        }
    }
}
