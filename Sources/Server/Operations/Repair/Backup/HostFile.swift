import OpenSSLCrypto
public import Posix
import Store

/// A file of the host that a backup stores along with the rows, so that a replacement host gets the same configuration.
/// None of them contains a secret.
public struct HostFile: Codable, Equatable, Sendable {
    /// The absolute path on the host.
    public var path: String
    public var text: String

    public init(path: String, text: String) {
        self.path = path
        self.text = text
    }

    /// The SHA-256 of the text.
    var sum: String { IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase }
}

/// The files of a host that belong in a backup, and their restoration.
public struct HostFiles {
    /// The result for a file of a backup.
    public enum Outcome: String, Encodable, Sendable {
        case written
        /// An identical file already exists.
        case same
        /// A different file exists, and is kept.
        case kept
        /// A different file existed; it is now next to the new one, with `.old` after its name.
        case replaced
    }

    /// The addresses that nginx does not limit, a list that the package installs empty.
    private static let exemptions = "/etc/nginx/syncd/syncd-exempt.conf"
    private static let unitFolder = "/etc/systemd/system"

    /// The prefix of each path; empty for the host itself.
    private let root: String

    public init(root: String = "") { self.root = root }

    /// Whether a backup may contain a file with this path: a restoration must not write elsewhere.
    static func allows(_ path: String) -> Bool {
        if [SetupPaths.configuration, SetupPaths.site, exemptions].contains(path) { return true }
        guard path.hasPrefix(unitFolder + "/") else { return false }
        let parts = path.dropFirst(unitFolder.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && isUnitFolder(String(parts[0]))
            && Directory.matches(String(parts[1]), pattern: "*.conf")
    }

    /// Whether a folder contains settings of this app's units.
    private static func isUnitFolder(_ name: String) -> Bool {
        let app = HostedApp.current
        let ours =
            AppFiles.unitNames.map(app.unit) + [
                app.unit("-@.service"), app.name == nil ? "syncd-default.slice" : app.unit(".slice"),
            ]
        // For a template, this includes the settings of its instances.
        return ours.contains { unit in
            let parts = unit.split(separator: "@", maxSplits: 1)
            return name == unit + ".d"
                || parts.count == 2 && Directory.matches(name, pattern: "\(parts[0])@*\(parts[1]).d")
        }
    }

    /// Collects this host's files.
    /// - Parameter hasSecrets: whether the configuration itself contains secrets; it is then omitted.
    /// - Returns: the files, and the paths of omitted files with the reason.
    public func collect(leavingOutConfiguration hasSecrets: Bool) -> (files: [HostFile], omitted: [String]) {
        var paths = hasSecrets ? [] : [SetupPaths.configuration]
        paths += [SetupPaths.site, Self.exemptions]
        let folders = ((try? Directory.names(in: root + Self.unitFolder)) ?? []).filter(Self.isUnitFolder)
        for folder in folders.map({ "\(Self.unitFolder)/\($0)" }) {
            let names = (try? Directory.names(in: root + folder, matching: "*.conf")) ?? []
            paths += names.map { "\(folder)/\($0)" }.filter { !AppFiles.isMade(root + $0) }
        }
        var files: [HostFile] = []
        var omitted = hasSecrets ? ["\(SetupPaths.configuration): it contains secrets"] : []
        for path in paths where AtomicFile.exists(root + path) {
            do throws(PosixError) {
                files.append(
                    HostFile(
                        path: path, text: String(decoding: try TextFile.read(root + path), as: UTF8.self)))
            } catch {
                omitted.append("\(path): \(error)")
            }
        }
        return (files, omitted)
    }

    /// The configuration of this host or, if it has none, of a backup.
    public func configuration(or files: [HostFile]) -> String? {
        if let bytes = try? TextFile.read(root + SetupPaths.configuration) {
            return String(decoding: bytes, as: UTF8.self)
        }
        return files.first { $0.path == SetupPaths.configuration }?.text
    }

    /// Writes a file of a backup to its path, readable for everybody, unless the host has a different file there.
    /// - Returns: `nil` if a backup may not contain the file.
    /// - Throws: ``PosixError``.
    public func restore(_ file: HostFile) throws(PosixError) -> Outcome? {
        guard Self.allows(file.path) else { return nil }
        let place = root + file.path
        guard AtomicFile.exists(place) else {
            try Directory.makeParents(of: place)
            try write(file, to: place)
            return .written
        }
        if try TextFile.read(place) == Array(file.text.utf8) { return .same }
        guard file.path == Self.exemptions else { return .kept }
        try Directory.rename(place, to: place + ".old")
        try write(file, to: place)
        return .replaced
    }

    private func write(_ file: HostFile, to place: String) throws(PosixError) {
        try AtomicFile.write(Array(file.text.utf8), to: place, permissions: 0o644)
    }
}
