import Foundation
import SyncModel
import TestSupport

/// The conditions at the end of a run, after the outbox has drained.
struct FinalChecks {
    let run: RandomisedRun

    /// Each storage contains exactly the objects that files and staged changes reference, and those that departed
    /// owners kept.
    func storage() async throws {
        let worlds = run.possibilities.worlds
        var complaints: [String] = []
        do {
            // A killed upload is deleted when its lease of 105 s expires.
            try await eventually("the outbox has drained", within: .seconds(150)) {
                try run.server.hastenOutbox()
                let found = try everythingStored()
                complaints = worlds.map { Self.complaint(about: found, in: $0) }.min { $0.count < $1.count } ?? []
                return complaints.isEmpty
            }
        } catch let error as NotEventually {
            throw run.difference(["\(error)"] + complaints)
        }
    }

    private func everythingStored() throws -> [Account: [StoredFile]] {
        var found: [Account: [StoredFile]] = [:]
        for (account, known) in run.cast.accounts where account.bringsStorage {
            found[account] = try run.server.sandbox.files(of: known).filter { $0.name != "README.txt" }
        }
        return found
    }

    private static func complaint(about found: [Account: [StoredFile]], in world: World) -> [String] {
        var rest = found
        var complaints: [String] = []
        for stored in world.referenced.union(world.remains.left) {
            let index = rest[stored.account]?.firstIndex { isSame($0, stored) }
            if let index {
                rest[stored.account]?.remove(at: index)
            } else {
                complaints.append("\(stored.account) lacks \(stored.file), \(stored.content)")
            }
        }
        for stored in world.remains.uncertain {
            rest[stored.account]?.removeAll { isSame($0, stored) }
        }
        // They may contain leftovers, such as those of an interrupted upload that the server would have deleted.
        for account in world.remains.abandoned { rest[account] = nil }
        return complaints + rest.flatMap { account, files in files.map { "\(account) also has \($0.name)" } }
    }

    private static func isSame(_ found: StoredFile, _ stored: StoredContent) -> Bool {
        guard found.name.hasPrefix(stored.file + "."), found.size == stored.content.bytes.count else { return false }
        // OneDrive's checksum differs from the one on the wire.
        let storage = stored.account.provider.storage ?? ""
        return storage == "Microsoft" || found.checkSum.lowercased() == stored.content.checkSums[storage]?.lowercased()
    }

    /// No log contains a token or a code, and the server has logged no defect.
    func logs() throws {
        let folder = URL(filePath: try run.server.environment.value("LOG_DIR"))
        let secrets = try Set(run.cast.secrets() + sandboxTokens()).filter { $0.count >= 12 }
        guard secrets.count > run.cast.people.count else { throw run.difference(["the test knows no tokens"]) }
        var complaints: [String] = []
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            for secret in secrets where text.contains(secret) {
                let line = text.split(separator: "\n").first { $0.contains(secret) } ?? ""
                complaints.append("\(file.lastPathComponent) holds a token: \(line.prefix(300))")
            }
            for line in text.split(separator: "\n") where line.contains(#""level":"error""#) {
                // Other tests may have provoked errors before.
                guard let time = JSONValue(line.utf8)?.time?.text, time >= run.beginning else { continue }
                complaints.append("\(file.lastPathComponent) reports a defect: \(line.prefix(500))")
            }
        }
        guard complaints.isEmpty else { throw run.difference(complaints) }
    }

    /// The tokens that the emulated providers have issued to phones and to the server.
    private func sandboxTokens() throws -> [String] {
        guard let stack = run.server.stack else { return [] }
        let folder = stack.folder.appending(path: "sandbox")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var tokens: [String] = []
        for case let file as URL in files ?? .init() where file.pathExtension == "json" {
            // The folder also contains descriptions of objects, and the outbox may still be deleting some.
            guard let bytes = try? Data(contentsOf: file), let json = JSONValue(bytes) else { continue }
            for list in ["accessTokens", "refreshTokens", "codes"] {
                tokens += json[list]?.array?.compactMap { $0.value?.text } ?? []
            }
        }
        return tokens
    }

    /// The database breaks none of its rules, except for work that the run's faults have postponed.
    func database() throws {
        let report = try OperatorTool(run.server).run("fsck", "--json")
        let findings = JSONValue(Array(report.output.utf8))?.findings?.array
        let complaints = (findings ?? [.string(report.output)])
            .filter { !["workStuck", "workFarOff"].contains($0.code?.text) }
        guard complaints.isEmpty else { throw run.difference(complaints.map { "fsck: \($0)" }) }
    }

    /// The server has broken none of the providers' rules.
    func providers() throws {
        let violations = try run.server.sandbox.violations()
        guard violations.isEmpty else { throw run.difference(violations.map { "violation: \($0)" }) }
    }
}
