internal import Glibc
import Posix

/// Finds the files that hold secrets.
struct SecretFiles {
    /// Where relative names are looked up: what systemd's `LoadCredential=` provides, else beside the configuration.
    private let folder: String

    init(configurationPath: String) {
        if let credentials = unsafe getenv("CREDENTIALS_DIRECTORY") {
            folder = unsafe String(cString: credentials)
        } else if let slash = configurationPath.lastIndex(of: "/") {
            folder = String(configurationPath[..<slash])
        } else {
            folder = "."
        }
    }

    func path(_ name: String) -> String { name.hasPrefix("/") ? name : folder + "/" + name }

    /// The secret in a file, without the line end that editors add.
    /// - Throws: ``PosixError``.
    func read(_ name: String) throws(PosixError) -> Secret {
        var bytes = try TextFile.read(path(name))
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
        return Secret(String(decoding: bytes, as: UTF8.self))
    }
}
