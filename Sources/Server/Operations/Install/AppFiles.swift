public import Posix
public import Store

/// An added app's variants of the package's files: units, users, folders, log rotation, and nginx includes. Setup
/// creates its configuration, its secrets and its site.
///
/// Each is generated from the package's file, and regenerated after an upgrade unless an administrator has changed it.
public struct AppFiles: Sendable {
    /// The result for the files.
    public struct Outcome: Equatable, Sendable {
        public var written: [String] = []
        /// Changed by an administrator, and different from what this release would write.
        public var kept: [String] = []
    }

    private struct File {
        var source: String
        var place: String
        var make: (String) -> String
    }

    private static let packageUnits = "/lib/systemd/system"
    static let units = "/etc/systemd/system"
    private static let snippets = "/usr/share/syncserver/nginx/snippets"
    private static let nginx = "/etc/nginx/syncd"
    /// The files included by sites that contain names of upstreams or zones; each app has its own.
    static let ownSnippets = [
        "syncd-admission.conf", "syncd-changes.conf", "syncd-changes-http.conf", "syncd-download.conf",
        "syncd-locations.conf", "syncd-maintenance.conf", "syncd-tls.conf", "syncd-zones.conf",
    ]
    private static let signature = SignedText(by: "syncctl apps")
    /// The names of the package's units without their prefix.
    static let unitNames = [
        "-api@.service", "-transfer@.service", "-jobs@.service", "-api.socket", "-transfer.socket", ".target",
        ".service",
        "-backup.service", "-backup.timer", "-backup-copy.service", "-authority.service", "-authority.timer",
    ]

    private let app: HostedApp
    private let root: String

    /// - Parameter root: the prefix of each path; empty for the host itself.
    public init(of app: HostedApp = .current, root: String = "") {
        self.app = app
        self.root = root
    }

    // MARK: Installed apps

    /// The added apps of a host, by name: those with units, and those with at least a configuration.
    public static func added(root: String = "") -> [HostedApp] {
        let targets = (try? Directory.names(in: root + units, matching: "syncd-*.target")) ?? []
        let named = targets.map { String($0.dropFirst("syncd-".count).dropLast(".target".count)) }
        let folders = (try? Directory.names(in: root + HostedApp.package.configurationFolder)) ?? []
        let configured = folders.filter { name in
            HostedApp(name).map { app in
                AtomicFile.exists("\(root)\(app.configurationFolder)/syncd.json")
                    || AtomicFile.exists("\(root)\(app.configurationFolder)/secrets")
            } ?? false
        }
        return Set(named + configured).sorted().compactMap { HostedApp($0) }.filter { $0.name != nil }
    }

    /// Whether the app has its units: it was added, but not removed.
    public var isInstalled: Bool { app.name == nil || AtomicFile.exists(root + Self.units + "/" + app.unit(".target")) }

    /// Whether a file is unchanged since this program wrote it.
    static func isMade(_ path: String) -> Bool {
        (try? TextFile.read(path)).map { signature.isUnchanged(String(decoding: $0, as: UTF8.self)) } ?? false
    }

    // MARK: Creation and removal

    /// Writes missing files, and replaces files unchanged since an earlier release wrote them.
    /// - Throws: ``PosixError``, for example for a missing package file.
    public func write() throws(PosixError) -> Outcome {
        var outcome = Outcome()
        guard app.name != nil else { return outcome }
        for file in files {
            let place = root + file.place
            let text = file.make(String(decoding: try TextFile.read(root + file.source), as: UTF8.self))
            let wanted = Self.signature.sign(text)
            if AtomicFile.exists(place) {
                let present = String(decoding: try TextFile.read(place), as: UTF8.self)
                if present == wanted { continue }
                guard Self.isMade(place) else {
                    outcome.kept.append(file.place)
                    continue
                }
            }
            try Directory.makeParents(of: place)
            try AtomicFile.write(Array(wanted.utf8), to: place, permissions: 0o644)
            outcome.written.append(file.place)
        }
        return outcome
    }

    /// Removes the files, including changed ones.
    /// - Throws: ``PosixError``.
    public func remove() throws(PosixError) {
        guard let name = app.name else { return }
        // The package has renamed some if nginx's module was removed.
        let signals = SetupPaths.signals(of: app).map(\.path)
        for path in files.map(\.place) + signals + signals.map({ $0 + ".without-nchan" }) {
            try Directory.removeFile(root + path)
        }
        for folder in ["\(Self.units)/\(app.unit("-@.service.d"))", "\(Self.nginx)/\(name)"] {
            try Directory.removeEmpty(root + folder)
        }
    }

    /// The programs that read the definitions of its users and its folders, with their arguments.
    public var definitions: [[String]] {
        [
            ["systemd-sysusers", "/etc/sysusers.d/\(app.prefix).conf"],
            ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/\(app.prefix).conf"],
        ]
    }

    private var files: [File] {
        let text = AppText(app)
        var files = Self.unitNames.map { name in
            File(source: "\(Self.packageUnits)/syncd\(name)", place: "\(Self.units)/\(app.unit(name))", make: text.unit)
        }
        files.append(
            File(
                source: "\(Self.packageUnits)/syncd-default.slice", place: "\(Self.units)/\(app.prefix).slice",
                make: text.unit))
        for (name, make) in [("common.conf", text.roles), ("loaded.conf", text.named)] {
            files.append(
                File(
                    source: "\(Self.packageUnits)/syncd-@.service.d/\(name)",
                    // Among drop-ins with the same name, the one with the longer prefix wins (systemd.unit(5)).
                    place: "\(Self.units)/\(app.unit("-@.service.d"))/\(name)", make: make))
        }
        for (folder, make) in [("sysusers.d", text.named), ("tmpfiles.d", text.named)] {
            files.append(
                File(source: "/usr/lib/\(folder)/syncd.conf", place: "/etc/\(folder)/\(app.prefix).conf", make: make))
        }
        files.append(
            File(
                // Not the file in /etc: an administrator may have changed or deleted it.
                source: "/usr/share/syncserver/logrotate", place: "/etc/logrotate.d/syncserver-\(app.label)",
                make: text.named))
        files += Self.ownSnippets.map { name in
            File(source: "\(Self.snippets)/\(name)", place: "\(Self.nginx)/\(app.label)/\(name)", make: text.nginx)
        }
        files.append(
            File(
                source: "\(Self.snippets)/syncd-metrics.conf", place: "\(Self.nginx)/apps/\(app.label).conf",
                make: text.monitoringPage))
        files.append(
            File(
                source: "\(Self.snippets)/syncd-zones.conf", place: "\(Self.nginx)/apps/\(app.label).share",
                make: { _ in AppText.share }))
        return files
    }
}
