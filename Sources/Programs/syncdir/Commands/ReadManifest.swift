import ArgumentParser
import Foundation
import SyncClient
import SyncDirectory

/// `syncdir read-manifest`.
struct ReadManifest: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read-manifest",
        abstract: "Turns a downloaded folder of a provider into ordinary files, without a server or the app.",
        discussion: """
            Reads the manifests in the folder, checks their signatures, and writes the files of each group below \
            OUTPUT with the names that people know; without OUTPUT, it only checks. It replaces nothing. It lists the \
            files that are missing, and those whose contents are not those of the manifest. Exit status 1: something \
            is missing, changed or damaged.
            """)

    @Argument(help: "The folder, as downloaded from the provider.", completion: .directory)
    var folder: String

    @Argument(help: "The directory to write to; it may exist.", completion: .directory)
    var output: String?

    // A key may begin with a hyphen.
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "A public key of the server; several times for several. Without it, the key in each manifest is used, "
                + "which shows that the manifest is complete, but not who wrote it.", valueName: "key"))
    var key: [String] = []

    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        struct Group: Encodable {
            var group: String
            var name: String?
            var manifest: String
            var written: String
            var hasExpectedKey: Bool
            var key: String
            var members: [String]
            var files: [File]
        }

        struct File: Encodable {
            var file: String
            var outcome: String
            var path: String?
            var object: String
            var owner: String?
        }

        struct Damage: Encodable {
            var manifest: String
            var reason: String
        }

        var groups: [Group] = []
        var damaged: [Damage] = []
    }

    func run() throws {
        let keys = try key.map { text in
            guard let key = GroupManifest.publicKey(text) else {
                throw Failure(.commandLine, "\(Output.printable(text)) is not a public key: 43 characters of base64url")
            }
            return key
        }
        let source = try ManifestFolder(path: folder, keys: keys)
        let export = try ManifestExport(source, to: output)
        var report = Report(damaged: source.damages.map { Report.Damage(manifest: $0.name, reason: $0.reason) })
        for group in source.groups {
            let items = try export.write(group)
            report.groups.append(
                Report.Group(
                    group: group.header.groupUUID.rawValue, name: group.header.groupName, manifest: group.source,
                    written: group.header.writtenAt.iso8601, hasExpectedKey: group.hasExpectedKey,
                    key: GroupManifest.text(ofPublicKey: group.header.publicKey), members: group.members.map(\.name),
                    files: items.map {
                        Report.File(
                            file: $0.fileUUID.rawValue, outcome: $0.outcome.rawValue, path: $0.path, object: $0.object,
                            owner: $0.owner)
                    }))
        }
        Output.write(report, Self.text(report, hasOutput: output != nil), asJSON: json)
        guard !report.groups.isEmpty else {
            throw Failure(.failed, "there is no usable manifest in \(Output.printable(folder))")
        }
        let problems = report.groups.flatMap(\.files).count { ["missing", "changed"].contains($0.outcome) }
        guard problems == 0, report.damaged.isEmpty else { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private static func text(_ report: Report, hasOutput: Bool) -> String {
        var lines: [String] = []
        for group in report.groups {
            lines.append("\(Output.printable(group.name ?? group.group)), as of \(group.written)")
            let whose = group.hasExpectedKey ? "the given key" : "the key in the manifest, \(group.key)"
            lines.append("  signed with \(whose)")
            lines.append("  members: \(group.members.map(Output.printable).joined(separator: ", "))")
            for outcome in ManifestExport.Outcome.allCases {
                let files = group.files.filter { $0.outcome == outcome.rawValue }
                guard !files.isEmpty else { continue }
                lines.append("  \(files.count) \(sentence(outcome, hasOutput: hasOutput))")
                guard outcome != .written else { continue }
                for file in files {
                    let owner = file.owner.map { " (\(Output.printable($0)))" } ?? ""
                    lines.append("    \(Output.printable(file.path ?? file.object))\(owner)")
                }
            }
        }
        for damage in report.damaged { lines.append("\(Output.printable(damage.manifest)): \(damage.reason)") }
        return lines.joined(separator: "\n")
    }

    private static func sentence(_ outcome: ManifestExport.Outcome, hasOutput: Bool) -> String {
        switch outcome {
        case .written: hasOutput ? "written" : "present"
        case .changed: "changed since the manifest was written:"
        case .missing: "missing from the folder:"
        case .elsewhere: "in the folders of other members:"
        case .absent: "that the server did not have either:"
        }
    }
}
