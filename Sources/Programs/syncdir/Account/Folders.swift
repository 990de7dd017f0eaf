import Foundation

/// The program's folders, according to the XDG Base Directory Specification.
struct Folders {
    /// For `config.json`.
    let configuration: URL
    /// For accounts.
    let state: URL

    /// - Throws: ``Failure`` if there is no home directory.
    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        func folder(_ variable: String, _ fallback: String) throws -> URL {
            // A relative path in a variable is invalid and counts as unset.
            if let path = environment[variable], path.hasPrefix("/") {
                return URL(filePath: path, directoryHint: .isDirectory).appending(path: "syncdir")
            }
            guard let home = environment["HOME"], home.hasPrefix("/") else {
                throw Failure(.configuration, "neither HOME nor \(variable) names a folder for the program's files")
            }
            return URL(filePath: home, directoryHint: .isDirectory).appending(path: fallback + "/syncdir")
        }
        configuration = try folder("XDG_CONFIG_HOME", ".config")
        state = try folder("XDG_STATE_HOME", ".local/state")
    }
}

/// The contents of `config.json`; every member is optional.
struct Configuration: Codable {
    struct Google: Codable {
        var clientID: String
        var clientSecret: String
        /// The server's client; without one the server has access only while the program runs.
        var serverClientID: String?
        var ports: [UInt16]?
    }

    struct Dropbox: Codable {
        var appKey: String
        var ports: [UInt16]
    }

    struct Microsoft: Codable {
        var clientID: String
    }

    /// A Nextcloud or an ownCloud.
    struct Nextcloud: Codable {
        var address: String
        var clientID: String
        var clientSecret: String
        /// The server's client; without one the server has access only while the program runs.
        var serverClientID: String?
        var ports: [UInt16]?
    }

    /// The server's address.
    var server: String?
    var google: Google?
    var dropbox: Dropbox?
    var microsoft: Microsoft?
    var nextcloud: Nextcloud?
    /// The folder in the storage of accounts that need one; `SyncServer` by default.
    var cloudFolderName: String?
    /// MIME types by file name extension, in addition to those that every server accepts.
    var mimeTypes: [String: String]?

    /// Reads the file; empty if it does not exist.
    init(_ folders: Folders) throws {
        let file = folders.configuration.appending(path: "config.json")
        guard FileManager.default.fileExists(atPath: file.path) else { return }
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
        } catch {
            throw Failure(.configuration, "\(file.path) is not valid JSON, or has an invalid member")
        }
    }
}
