import Configuration
import FoundationEssentials
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store
import SyncProtocol

/// The steps of a rotation of sealing keys on this host. Only the configuration stores the state of the rotation:
/// `nextKeyFile` means begun, `formerKeyFiles` means switched. Each step writes the files that the services need before
/// the configuration that names them, and replaces the configuration in one rename. Every service can start before,
/// between and after these writes, even if systemd has not passed the new file to it yet.
struct KeyRotationSteps {
    /// How often the resealing of records that change meanwhile is repeated.
    private static let maximumPasses = 5

    private let installation: Installation
    /// The configuration's path, without symbolic links.
    private let path: String
    private let text: String
    private let section: SealingSection
    private let keys: KeyRing

    init(_ options: CommonOptions) throws {
        installation = try Installation(options)
        path = try AtomicFile.resolved(options.file.path)
        text = String(decoding: try TextFile.read(path), as: UTF8.self)
        do { section = try SealingSection(of: text) } catch {
            throw CommandFailure(.configuration, "\(path): \(error)")
        }
        keys = try installation.keys()
    }

    private var phase: RotationReport.Phase {
        section.nextKeyFile != nil ? .begun : section.formerKeyFiles.isEmpty ? .none : .switched
    }

    // MARK: Steps

    /// The state of the rotation, and the processes that need a reload.
    func status() throws -> RotationReport {
        let holders = try holders()
        switch phase {
        case .none: return report(.none)
        case .begun: return report(.begun, waitingFor: try lacking(nextKey().name, holders))
        case .switched: return report(.switched, waitingFor: holders.filter { $0.sealingKey != keys.current.name })
        }
    }

    /// Stores a new key next to the current one, and names it in the configuration.
    ///
    /// - Parameter given: the path of a key created on another host; `nil` to create one.
    func begin(withKeyIn given: String?) throws -> RotationReport {
        switch phase {
        case .begun:
            var report = try status()
            report.remarks = ["A rotation has already begun; nothing was changed."]
            return report
        case .switched:
            throw CommandFailure(
                .foundSomething, "an earlier rotation is not finished: run syncctl keys rotate finish first")
        case .none: break
        }
        let key = try given.map(Self.text(ofKeyIn:)) ?? Self.newKey()
        let name = try SealingKey(base64: key).name
        guard name != keys.current.name else {
            throw CommandFailure(.foundSomething, "that key is already the current one")
        }
        // A host that creates its own key after another host has begun could never switch.
        for holder in try holders() {
            let others = Set([holder.sealingKey] + holder.openingKeys).subtracting([name, keys.current.name])
            guard let other = others.min() else { continue }
            throw CommandFailure(
                .foundSomething,
                "the host \(holder.hostName) has another key, \(other): if a rotation has begun there, copy its file "
                    + "here and name it with --key; if one has been finished, reload that host first")
        }
        let present = filePath(section.keyFile)
        let file = Self.sibling(of: section.keyFile, named: name)
        try AtomicFile.write(Array((key + "\n").utf8), to: Self.sibling(of: present, named: name), like: present)
        var begun = section
        begun.nextKeyFile = file
        try replace(with: begun)
        var report = report(.begun)
        report.nextKey = name
        report.keyFile = Self.sibling(of: present, named: name)
        return report
    }

    /// Switches sealing to the new key, once every process can open with it.
    func switchKeys() throws -> RotationReport {
        guard let next = section.nextKeyFile else {
            if phase == .switched {
                var report = try status()
                report.remarks = ["The new key already is the sealing key; nothing was changed."]
                return report
            }
            throw CommandFailure(.foundSomething, "no rotation has been begun: syncctl keys rotate begin")
        }
        let name = try nextKey().name
        let waiting = try lacking(name, try holders())
        guard waiting.isEmpty else { return report(.begun, waitingFor: waiting, isRefused: true) }
        var switched = section
        switched.keyFile = next
        switched.formerKeyFiles = [section.keyFile] + section.formerKeyFiles
        switched.nextKeyFile = nil
        try replace(with: switched)
        var report = report(.switched)
        report.sealingKey = name
        report.keyFile = filePath(next)
        return report
    }

    /// Reseals all records, once every process seals with the new key, and retires the former keys.
    func finish() throws -> RotationReport {
        guard phase == .switched else {
            throw CommandFailure(
                .foundSomething,
                phase == .begun
                    ? "the services do not seal with the new key yet: run syncctl keys rotate switch, and reload them"
                    : "no rotation is in progress: syncctl keys rotate begin starts one")
        }
        let waiting = try holders().filter { $0.sealingKey != keys.current.name }
        guard waiting.isEmpty else { return report(.switched, waitingFor: waiting, isRefused: true) }
        let rotation = KeyRotation(store: installation.store, keys: keys)
        var resealed = try rotation.run()
        for _ in 1..<Self.maximumPasses where resealed.changedMeanwhile > 0 {
            let again = try rotation.run()
            resealed.resealed += again.resealed
            resealed.changedMeanwhile = again.changedMeanwhile
            resealed.unreadable = again.unreadable
        }
        guard resealed.changedMeanwhile == 0 else {
            var report = report(.switched, isRefused: true)
            report.resealing = resealed
            return report
        }
        let former = section.formerKeyFiles.map(filePath)
        var finished = section
        finished.formerKeyFiles = []
        try replace(with: finished)
        var report = report(.none)
        report.resealing = resealed
        report.formerKeyFiles = former
        return report
    }

    // MARK: Processes

    private func holders() throws -> [KeyHolder] {
        try installation.store.withSession { try $0.keyHolders(at: installation.now) }
    }

    private func lacking(_ name: String, _ holders: [KeyHolder]) throws -> [KeyHolder] {
        holders.filter { $0.sealingKey != name && !$0.openingKeys.contains(name) }
    }

    private func report(
        _ phase: RotationReport.Phase, waitingFor holders: [KeyHolder] = [], isRefused: Bool = false
    ) -> RotationReport {
        RotationReport(
            phase: phase, sealingKey: keys.current.name,
            nextKey: phase == .begun ? (try? nextKey())?.name : nil,
            waitingFor: holders.map {
                RotationReport.Process(host: $0.hostName, role: $0.role.rawValue, processID: $0.processID)
            }, isRefused: isRefused)
    }

    // MARK: Files

    /// - Throws: ``CommandFailure`` if the configuration names no next key.
    private func nextKey() throws -> SealingKey {
        guard let next = installation.configuration.nextSealingKey else {
            throw CommandFailure(.foundSomething, "no rotation has been begun: syncctl keys rotate begin")
        }
        return try SealingKey(base64: next.value)
    }

    private static func newKey() throws -> String {
        Data(try RandomBytes.generate(count: SealingKey.byteCount)).base64EncodedString()
    }

    private static func text(ofKeyIn path: String) throws -> String {
        let text = String(decoding: try TextFile.read(path), as: UTF8.self)
        return String(text.prefix { !$0.isWhitespace })
    }

    private func filePath(_ name: String) -> String { ServerConfiguration.path(ofSecret: name, beside: path) }

    /// The path or name of a file next to `file` whose name contains the key's name.
    private static func sibling(of file: String, named key: String) -> String {
        var stem = Substring(file)
        // The name that an earlier rotation added.
        let suffix = stem.suffix(9)
        if suffix.first == "-", suffix.dropFirst().allSatisfy(\.isHexDigit) { stem = stem.dropLast(9) }
        return "\(stem)-\(key)"
    }

    /// Replaces the section of the configuration; the rest of the file stays unchanged.
    private func replace(with section: SealingSection) throws {
        do {
            let replaced = try section.replacing(in: text)
            _ = try ServerConfiguration(proposed: replaced, at: path, secrets: [:])
            try AtomicFile.write(Array(replaced.utf8), to: path, like: path)
        } catch let unsuitable as SealingSection.Unsuitable {
            throw CommandFailure(.configuration, "\(path): \(unsuitable)")
        }
    }
}

/// What a step of a key rotation did, or why it did nothing, and the next step.
struct RotationReport: Report {
    /// The state of the rotation.
    enum Phase: String, Encodable {
        /// No rotation is in progress.
        case none
        /// The services open tokens with the new key, once they are reloaded.
        case begun
        /// The services seal tokens with the new key, once they are reloaded.
        case switched
    }

    /// A running process of the server.
    struct Process: Encodable {
        var host: String
        var role: String
        /// Its process identifier on its host.
        var processID: Int32
    }

    var phase: Phase
    /// Names of keys; not secret.
    var sealingKey: String
    var nextKey: String?
    /// The file that a step created or made current.
    var keyFile: String?
    /// Files that are no longer named in the configuration.
    var formerKeyFiles: [String]?
    /// Processes that must be reloaded before the next step.
    var waitingFor: [Process]
    /// The result of resealing all records; absent if it was not tried.
    var resealing: KeyRotationReport?
    /// Whether the step was not taken.
    var isRefused: Bool
    var remarks: [String] = []

    init(
        phase: Phase, sealingKey: String, nextKey: String? = nil, waitingFor: [Process] = [], isRefused: Bool = false
    ) {
        self.phase = phase
        self.sealingKey = sealingKey
        self.nextKey = nextKey
        self.waitingFor = waitingFor
        self.isRefused = isRefused
    }

    var isGood: Bool { !isRefused }

    var lines: [String] {
        var lines = remarks
        switch phase {
        case .none: lines.append("No rotation is in progress; tokens are sealed with key \(sealingKey).")
        case .begun:
            lines.append(
                "Begun: tokens are sealed with key \(sealingKey); reloaded services also open those of key "
                    + "\(nextKey ?? "?").")
        case .switched: lines.append("Switched: reloaded services seal tokens with key \(sealingKey).")
        }
        if let keyFile { lines.append("The key is in \(keyFile). Keep a copy of it elsewhere.") }
        if let resealing {
            lines.append("\(resealing.resealed) resealed, \(resealing.alreadyCurrent) were current already.")
            for record in resealing.unreadable {
                lines.append("No key opens the tokens of \(record): they have to sign in again.")
            }
            if resealing.changedMeanwhile > 0 {
                lines.append("\(resealing.changedMeanwhile) kept changing during that time.")
            }
        }
        for file in formerKeyFiles ?? [] {
            lines.append("\(file) is no longer used: keep it as long as you keep backups from its time.")
        }
        if !waitingFor.isEmpty {
            lines.append(
                (isRefused ? "Nothing was changed, because these" : "These") + " processes have not loaded the key "
                    + "yet:")
            lines += waitingFor.map { "  \($0.role), process \($0.processID) on \($0.host)" }
            lines.append("A process that ended without deregistering is removed from this list after two minutes.")
        }
        return lines + next.map(AppText().named)
    }

    private var next: [String] {
        switch phase {
        case .none where formerKeyFiles != nil:
            ["Next: systemctl reload syncd; and syncctl keys rotate finish on every other host of this database."]
        case .none: []
        case .begun:
            [
                "Next, on every other host of this database: copy the file there, syncctl keys rotate begin --key FILE.",
                "Then, on every host: systemctl reload syncd; then syncctl keys rotate switch.",
            ]
        case .switched: ["Next, on every host: systemctl reload syncd; then syncctl keys rotate finish."]
        }
    }
}
