import Glibc
import Posix
import Providers
public import SyncProtocol

/// Finds the files that hold secrets.
///
/// In a service, systemd provides a copy of each file of `/etc/syncd/secrets` to that service only, and puts the prefix
/// of `LoadCredential=secret:/etc/syncd/secrets` before its name (systemd.exec(5)). Elsewhere, as for `syncctl`, the
/// files themselves are read, from the folder `secrets` next to the configuration or, failing that, from the
/// configuration's own folder.
struct SecretFiles {
    /// Prefixes tried for a relative name, in this order; the first that matches a file wins.
    private let prefixes: [String]
    /// Secrets not yet written to files, by their names in the configuration.
    private let coming: [String: Secret]
    /// Whether this process, which is not a service, looks where systemd finds the files for a service.
    let isRehearsal: Bool

    /// - Parameter credentialsFolder: the value of `CREDENTIALS_DIRECTORY` set by systemd; `nil` outside of a service.
    init(
        configurationPath: String, credentialsFolder: String? = Self.credentialsFolder, coming: [String: Secret] = [:]
    ) {
        self.coming = coming
        isRehearsal = false
        if let credentialsFolder {
            prefixes = [credentialsFolder + "/secret_", credentialsFolder + "/"]
        } else {
            let folder = Self.folder(of: configurationPath)
            prefixes = [folder + "/secrets/", folder + "/"]
        }
    }

    /// Finds only the files that systemd passes on to the services of a configuration.
    init(rehearsingServicesOf configurationPath: String) {
        coming = [:]
        isRehearsal = true
        prefixes = [Self.folder(of: configurationPath) + "/secrets/"]
    }

    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    private static var credentialsFolder: String? {
        unsafe getenv("CREDENTIALS_DIRECTORY").map { unsafe String(cString: $0) }
    }

    /// The path of a file that the configuration names; the expected path if it does not exist.
    func path(_ name: String) -> String {
        guard !name.hasPrefix("/") else { return name }
        let paths = prefixes.map { $0 + name }
        return paths.first { unsafe access($0, F_OK) == 0 } ?? paths[0]
    }

    /// The secret in a file, without the newline that editors add.
    /// - Throws: ``PosixError``.
    func read(_ name: String) throws(PosixError) -> Secret {
        if let secret = coming[name] { return secret }
        var bytes = try TextFile.read(path(name))
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
        return Secret(String(decoding: bytes, as: UTF8.self))
    }
}

/// A secret that a setting refers to by file.
public struct SecretFile: Equatable, Sendable {
    /// The setting whose value it is, such as `database.password`.
    public var setting: String
    /// As written in the configuration: an absolute path, or a name below /etc/syncd/secrets.
    public var name: String
    /// The roles that need it. syncctl, which runs as root, reads all.
    public var readers: Set<ServerRole>
}
