import FoundationEssentials
import OpenSSLCrypto
import Posix
import Synchronization

/// Everything that the emulated Apple issues: identity tokens, codes, notifications, refresh tokens.
struct AppleTokens {
    static let issuer = "https://appleid.apple.com"
    /// Lifetime of an identity token, in seconds.
    static let identityTokenSeconds = 600.0
    /// Lifetime of a code, in seconds ("Generate and validate tokens").
    static let codeSeconds = 300.0
    let keys: AppleKeys

    /// How a token deviates from Apple's, for tests of token validation.
    struct Oddity {
        var issuer = AppleTokens.issuer
        var audience: String?
        var key = AppleKeys.Choice.current
        var secondsOld = 0.0
        var lifeSeconds = AppleTokens.identityTokenSeconds
    }

    /// A user ID in Apple's format.
    static func userID() -> String {
        "00" + RandomText.number(4) + "." + RandomText.token(80).lowercased().filter(\.isHexDigit).prefix(32) + "."
            + RandomText.number(4)
    }

    /// A new code for the app.
    static func code(for account: Account, at now: Date) -> AuthorizationCode {
        AuthorizationCode(
            value: "c" + RandomText.token(60).filter { $0 != "-" && $0 != "_" } + ".0." + RandomText.token(22),
            clientID: account.audience, expiresAt: now.addingTimeInterval(codeSeconds), promptsConsent: false)
    }

    /// Signs in on the device at `now` by creating an unused code. Identity tokens are created on request.
    static func signIn(_ account: inout Account, at now: Date, soon: Date) -> Bool {
        guard account.freshCode(at: soon) == nil else { return false }
        account.add(code(for: account, at: now))
        return true
    }

    /// An identity token ("Authenticating users with Sign in with Apple").
    func identityToken(of account: Account, at now: Date, _ oddity: Oddity = Oddity()) throws -> String {
        let issuedAt = now.addingTimeInterval(-oddity.secondsOld)
        return try sign(
            [
                "iss": .string(oddity.issuer), "aud": .string(oddity.audience ?? account.audience),
                "exp": .int(issuedAt.addingTimeInterval(oddity.lifeSeconds).unixSeconds),
                "iat": .int(issuedAt.unixSeconds), "sub": .string(account.id), "email": .string(account.email),
                // Apple usually sends strings here, sometimes booleans.
                "email_verified": "true", "is_private_email": "false", "auth_time": .int(issuedAt.unixSeconds),
                "nonce_supported": true,
            ], oddity.key)
    }

    /// A notification to the app's server about a user's action, with `events` as a string or an object.
    func notice(
        _ type: String, about account: Account, identifier: String, isText: Bool, at now: Date, _ oddity: Oddity
    ) throws -> String {
        let time = now.addingTimeInterval(-oddity.secondsOld)
        let event: JSONValue = [
            "type": .string(type), "sub": .string(account.id), "event_time": .int(time.unixSeconds * 1_000),
            "email": .string(account.email), "is_private_email": "false",
        ]
        return try sign(
            [
                "iss": .string(oddity.issuer), "aud": .string(oddity.audience ?? account.audience),
                "iat": .int(time.unixSeconds), "jti": .string(identifier),
                "events": isText ? .string(event.text()) : event,
            ], oddity.key)
    }

    private func sign(_ claims: JSONObject, _ choice: AppleKeys.Choice) throws -> String {
        let (name, key) = try keys.key(choice)
        let header: JSONValue = ["kid": .string(name), "alg": "RS256"]
        let text = header.bytes().base64URL + "." + JSONValue.object(claims).bytes().base64URL
        return try text + "." + key.signature(over: Array(text.utf8)).base64URL
    }
}

/// Validates the token with which the app's server authenticates to Apple ("Creating a client secret").
enum AppleClientSecret {
    /// The longest lifetime that Apple allows, in seconds.
    static let longestLifeSeconds = 15_777_000

    /// What is wrong with the client secret of `clientID`; `nil` if it is valid.
    static func fault(in token: String, of clientID: String, key: PublicKey, at now: Date) -> String? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = json(parts[0]), let claims = json(parts[1]),
            let signature = [UInt8](base64URL: parts[2])
        else { return "client_secret is not a signed token" }
        guard header["alg"] == "ES256" else { return "client_secret is not signed with ES256" }
        guard header["kid"]?.string == RegisteredApps.appleKeyID else {
            return "client_secret names another key: kid must be \(RegisteredApps.appleKeyID)"
        }
        guard signature.count == 64 else {
            return "the signature has \(signature.count) bytes: it must be r and s, 64 bytes, not DER"
        }
        guard key.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)) else {
            return "the signature of client_secret is wrong"
        }
        guard claims["iss"]?.string == RegisteredApps.appleTeamID else { return "iss must be the team ID" }
        guard claims["sub"]?.string == clientID else { return "sub must be the client ID" }
        guard claims["aud"]?.string == AppleTokens.issuer else { return "aud must be \(AppleTokens.issuer)" }
        guard let issuedAt = claims["iat"]?.int, let expiresAt = claims["exp"]?.int else {
            return "iat and exp must be whole numbers"
        }
        guard expiresAt > now.unixSeconds else { return "client_secret has expired" }
        guard issuedAt <= now.unixSeconds + 300 else { return "client_secret was issued in the future" }
        guard expiresAt - issuedAt <= longestLifeSeconds else { return "client_secret lasts longer than six months" }
        return nil
    }

    private static func json(_ part: Substring) -> JSONValue? {
        [UInt8](base64URL: part).flatMap { try? JSONValue(parsing: $0) }
    }
}

/// The keys of the emulated Apple: the keys that sign its tokens, and the app maker's key for client secrets.
///
/// Apple publishes several keys at once. The sandbox has three: the previous, the current and the next one, so that
/// after a rotation the new signing key is already published. They are kept on disk.
final class AppleKeys: Sendable {
    private struct Memory {
        var generation: Int?
        var keys: [Int: PrivateKey] = [:]
        var clientKey: PrivateKey?
    }

    private let directory: StateDirectory
    private let memory = Mutex(Memory())

    init(directory: StateDirectory) { self.directory = directory }

    /// Which of the published keys signs a token; `unknown` is never published.
    enum Choice: String, CaseIterable {
        case previous, current, next, unknown

        static let published: [Self] = [.previous, .current, .next]
    }

    /// A signing key with its name.
    func key(_ choice: Choice) throws(StorageError) -> (name: String, key: PrivateKey) {
        try memory.withLock { memory throws(StorageError) in
            let present = generation(&memory)
            let number =
                switch choice {
                case .previous: present - 1
                case .current: present
                case .next: present + 1
                case .unknown: -1
                }
            return (Self.name(number), try key(number, &memory))
        }
    }

    /// Creates the published keys that do not exist yet.
    func prepare() throws(StorageError) {
        for choice in Choice.published { _ = try key(choice) }
    }

    /// The published keys (RFC 7517).
    func published() throws -> JSONValue {
        try .array(
            Choice.published.map { choice in
                let (name, key) = try key(choice)
                var members: JSONObject = ["kid": .string(name), "use": "sig", "alg": "RS256"]
                for member in try key.publicKey.webKeyMembers { members[member.name] = .string(member.value) }
                return .object(members)
            })
    }

    /// Rotates the keys: the next key signs from now on.
    func rotate() throws(StorageError) {
        try memory.withLock { memory throws(StorageError) in
            let next = generation(&memory) + 1
            try directory.write(["generation": .int(next)], to: generationPath)
            memory.generation = next
        }
    }

    /// The key with which the app maker signs client secrets; created on first use.
    func clientKey() throws(StorageError) -> PrivateKey {
        try memory.withLock { memory throws(StorageError) in
            if let known = memory.clientKey { return known }
            let path = directory.appleClientKeyPath
            let key: PrivateKey
            if let bytes = try? TextFile.read(path) {
                key = try Self.translating { () throws(CryptoError) in
                    try PrivateKey(pem: String(decoding: bytes, as: UTF8.self))
                }
            } else {
                key = try Self.translating { () throws(CryptoError) in try PrivateKey(generating: .es256) }
                let pem = try Self.translating { () throws(CryptoError) in try key.pem }
                try StorageError.translating { () throws(PosixError) in
                    try RegularFile(path, for: .writing).write(Array(pem.utf8).span, at: 0)
                }
            }
            memory.clientKey = key
            return key
        }
    }

    private var generationPath: String { directory.path + "/apple-keys.json" }

    private func generation(_ memory: inout Memory) -> Int {
        if let known = memory.generation { return known }
        let stored = directory.readJSON(generationPath)?["generation"]?.int ?? 1
        memory.generation = stored
        return stored
    }

    private func key(_ number: Int, _ memory: inout Memory) throws(StorageError) -> PrivateKey {
        if let known = memory.keys[number] { return known }
        let path = directory.path + "/apple-key-\(number).json"
        let key: PrivateKey
        if let pem = directory.readJSON(path)?["pem"]?.string {
            key = try Self.translating { () throws(CryptoError) in try PrivateKey(pem: pem) }
        } else {
            key = try Self.translating { () throws(CryptoError) in try PrivateKey(generating: .rs256) }
            let pem = try Self.translating { () throws(CryptoError) in try key.pem }
            try directory.write(["pem": .string(pem)], to: path)
        }
        memory.keys[number] = key
        return key
    }

    private static func name(_ number: Int) -> String { number < 0 ? "UNPUBLISHED" : "SANDBOXKEY\(number)" }

    private static func translating<Value>(
        _ body: () throws(CryptoError) -> Value
    ) throws(StorageError) -> Value {
        do { return try body() } catch { throw StorageError(description: "Apple's keys: \(error)") }
    }
}

extension StateDirectory {
    /// The app maker's private key for client secrets, in PEM; an operator may place one there.
    public var appleClientKeyPath: String { path + "/apple-client-key.pem" }
}
