internal import Posix

/// The sandbox's storage: one directory, with contents as plain files and metadata as JSON files next to them.
///
/// ```
/// settings.json
/// accounts/ID/account.json          name, tokens
/// accounts/ID/content/OBJECT        the bytes of one file
/// accounts/ID/metadata/OBJECT.json  its name, folder, times, checksums
/// uploads/SESSION.part, .json       resumable uploads in progress
/// ```
public struct StateDirectory: Sendable {
    /// The directory's path, without a trailing slash.
    public let path: String

    /// Uses the directory at `path`, which is created if it is missing.
    /// - Throws: ``StorageError`` if that fails.
    public init(_ path: String) throws(StorageError) {
        self.path = path
        try StorageError.translating { () throws(PosixError) in
            try Directory.make(path + "/accounts")
            try Directory.make(path + "/uploads")
        }
    }

    var settingsPath: String { path + "/settings.json" }
    func accountPath(_ account: String) -> String { path + "/accounts/" + account }
    func accountFile(_ account: String) -> String { accountPath(account) + "/account.json" }
    func contentPath(_ account: String, _ object: String) -> String { accountPath(account) + "/content/" + object }
    func metadataPath(_ account: String, _ object: String) -> String {
        accountPath(account) + "/metadata/" + object + ".json"
    }
    func uploadPath(_ session: String) -> String { path + "/uploads/" + session + ".part" }
    func uploadFile(_ session: String) -> String { path + "/uploads/" + session + ".json" }

    /// Creates the folders of a new account.
    func makeFolders(of account: String) throws(StorageError) {
        try StorageError.translating { () throws(PosixError) in
            try Directory.make(accountPath(account) + "/content")
            try Directory.make(accountPath(account) + "/metadata")
        }
    }

    /// The names of the entries in a folder below the state directory; with `suffix`, only names that end in it,
    /// without it.
    func names(in folder: String, suffix: String = "") throws(StorageError) -> [String] {
        try StorageError.translating { () throws(PosixError) in
            try Directory.names(in: path + "/" + folder)
                .filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }
        }
    }

    /// The JSON value in the file at `path`; `nil` if the file is missing or incomplete.
    func readJSON(_ path: String) -> JSONValue? {
        guard let bytes = try? TextFile.read(path) else { return nil }
        return try? JSONValue(parsing: bytes)
    }

    /// Writes a JSON value to the file at `path` atomically: a reader sees the old or the new value, never a part.
    func write(_ value: JSONValue, to path: String) throws(StorageError) {
        try write(value.bytes(isPretty: true), to: path)
    }

    /// Writes an entry to the file at `path`, likewise.
    func write(entry: some Encodable, to path: String) throws(StorageError) {
        let bytes: [UInt8]
        do { bytes = try EntryJSON.bytes(of: entry) } catch { throw StorageError(description: "\(error)") }
        try write(bytes, to: path)
    }

    /// The entry in the file at `path`; `nil` if the file is missing or holds no such entry.
    func read<Entry: Decodable>(_ type: Entry.Type, _ path: String) -> Entry? {
        guard let bytes = try? TextFile.read(path) else { return nil }
        return try? EntryJSON.entry(type, from: bytes)
    }

    private func write(_ bytes: [UInt8], to path: String) throws(StorageError) {
        try StorageError.translating { () throws(PosixError) in
            let temporary = path + ".new"
            try Directory.removeFile(temporary)
            let file = try RegularFile(temporary, for: .writing)
            try file.write(bytes.span, at: 0)
            try Directory.rename(temporary, to: path)
        }
    }

    /// The size of the file at `path`, in bytes; 0 if it is missing.
    func size(_ path: String) -> Int {
        guard let file = try? RegularFile(path, for: .reading) else { return 0 }
        return (try? file.size()) ?? 0
    }

    /// Removes a file if it exists.
    func remove(_ path: String) {
        try? Directory.removeFile(path)
    }

    /// Moves a finished upload to its final path.
    func move(_ old: String, to new: String) throws(StorageError) {
        try StorageError.translating { () throws(PosixError) in try Directory.rename(old, to: new) }
    }

    /// Copies a file's contents, which are only ever replaced as a whole.
    func copy(_ old: String, to new: String) throws(StorageError) {
        try StorageError.translating { () throws(PosixError) in try Directory.link(old, to: new) }
    }
}

/// The state directory cannot be used: the sandbox's disk is full or not accessible.
public struct StorageError: Error, CustomStringConvertible {
    /// The system's error message.
    public let description: String

    static func translating<Result: ~Copyable>(_ body: () throws(PosixError) -> Result) throws(StorageError) -> Result {
        do {
            return try body()
        } catch {
            throw StorageError(description: "state directory: \(error)")
        }
    }
}
