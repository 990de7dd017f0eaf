import Operations

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
                lines.append("\(resealing.changedMeanwhile) kept changing meanwhile.")
            }
        }
        for file in formerKeyFiles ?? [] {
            lines.append("\(file) is no longer used: keep it as long as backups from its time.")
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
