import Foundation
import SyncAccounts
import SyncClient

/// An account that is signed in under a name.
struct Account: Codable {
    /// How the person signed in.
    enum Kind: String, Codable {
        case google, dropbox, microsoft, nextcloud, sandbox
    }

    var server: String
    var kind: Kind
    /// For display.
    var person: String
    /// The sandbox's control interface, and the account's name there.
    var sandbox: String?
    var sandboxAccount: String?
}

/// The files of an account, by its name.
struct AccountFiles {
    let folder: URL
    private var file: URL { folder.appending(path: "account.json") }
    var credentials: URL { folder.appending(path: "credentials.json") }
    /// The library's store for operations not tied to a directory.
    var store: URL { folder.appending(path: "store") }

    init(_ folders: Folders, _ name: String) {
        folder = folders.state.appending(path: "accounts/\(name)", directoryHint: .isDirectory)
    }

    /// - Throws: ``Failure`` if nobody is signed in.
    func load() throws -> Account {
        guard let bytes = try? Data(contentsOf: file) else {
            throw Failure(.noPermission, "nobody is signed in; use syncdir sign-in")
        }
        do { return try JSONDecoder().decode(Account.self, from: bytes) } catch {
            throw Failure(.configuration, "\(file.path) was changed, and cannot be read; use syncdir sign-in")
        }
    }

    func save(_ account: Account) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try JSONEncoder().encode(account).write(to: file, options: .atomic)
    }

    /// The contents of the files; nil for a file that does not exist.
    var contents: [URL: Data?] {
        Dictionary(uniqueKeysWithValues: [file, credentials].map { ($0, try? Data(contentsOf: $0)) })
    }

    /// Restores the contents of the files.
    func restore(_ contents: [URL: Data?]) throws {
        for (file, bytes) in contents {
            if let bytes {
                // Written in place, so that the file keeps its permissions.
                let handle = try FileHandle(forWritingTo: file)
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: bytes)
                try handle.close()
            } else if FileManager.default.fileExists(atPath: file.path) {
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    func remove() throws {
        for file in [file, credentials] where FileManager.default.fileExists(atPath: file.path) {
            try FileManager.default.removeItem(at: file)
        }
    }
}
