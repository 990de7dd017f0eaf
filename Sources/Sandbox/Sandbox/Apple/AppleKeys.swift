internal import FoundationEssentials
internal import OpenSSLCrypto
internal import Posix
internal import Synchronization

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
