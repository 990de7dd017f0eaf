import Foundation
import TestSupport
import Testing

/// The command line of `syncctl`, and its help.
@Suite("syncctl's commands")
struct GrammarTests {
    private let tool: OperatorTool

    init() throws { tool = try OperatorTool(TestServer.shared()) }

    // MARK: Help

    /// A command as the program describes it (`--experimental-dump-help` of swift-argument-parser).
    private struct Described {
        var words: [String]
        var arguments: [JSONValue]
        var children: [Described]

        var withAllBelow: [Described] { [self] + children.flatMap(\.withAllBelow) }

        init(_ command: JSONValue, below words: [String]) {
            self.words = words
            arguments = command.arguments?.array ?? []
            children = (command.subcommands?.array ?? []).compactMap { child in
                guard let name = child.commandName?.text, name != "help" else { return nil }
                return Described(child, below: words + [name])
            }
        }

        /// Names of options, each with whether it takes a value.
        var options: [String: Bool] {
            var options: [String: Bool] = [:]
            for argument in arguments {
                for name in argument["names"]?.array ?? [] {
                    guard let text = name.name?.text else { continue }
                    options[(name.kind?.text == "short" ? "-" : "--") + text] = argument.kind?.text == "option"
                }
            }
            return options
        }
    }

    private func described() throws -> Described {
        let dump = try tool.runPlain("--experimental-dump-help")
        let command = try #require(JSONValue(Array(dump.output.utf8))?.command)
        return Described(command, below: [])
    }

    @Test("Each help page has examples of its command that use only existing options")
    func examples() throws {
        for command in try described().withAllBelow {
            let help = try tool.runPlain(arguments: ["help"] + command.words)
            let parts = help.output.components(separatedBy: "\nEXAMPLES:\n")
            #expect(help.status == 0 && parts.count == 2, "\(command.words): \(help.output)")
            for line in (parts.last ?? "").split(separator: "\n") where line.hasPrefix("  syncctl") {
                let words = line.split(separator: " ").map(String.init).dropFirst()
                #expect(words.starts(with: command.words), "\(line)")
                guard command.children.isEmpty else { continue }
                let known = command.options
                for word in words where word.hasPrefix("--") { #expect(known[word] != nil, "\(line)") }
            }
        }
    }

    @Test("Value placeholders name the kind of value, not the option")
    func values() throws {
        for command in try described().withAllBelow where command.children.isEmpty {
            for argument in command.arguments where argument.kind?.text == "option" {
                let name = argument.preferredName?.name?.text ?? ""
                let named = ["type", "kind"]
                #expect(named.contains(name) || argument.valueName?.text != name, "\(command.words) --\(name)")
            }
        }
    }

    // MARK: Former names

    @Test(
        "Former names still work, and print the current name on standard error",
        arguments: [
            (["check-config"], "config check"), (["rotate-keys", "status"], "keys rotate status"),
            (["export-user", "0"], "users export"), (["erase-user", "0"], "users erase"),
            (["verify-backup", "/nowhere"], "backup verify"), (["restore", "/nowhere"], "backup restore"),
            (["copy-backup", "--from", "/nowhere"], "backup copy"),
            (["mark-restored", "never"], "backup mark-restored"),
            (["backup", "--into", "/nowhere"], "backup make"),
        ])
    func former(words: [String], now: String) throws {
        let former = try tool.run(words)
        let rest = words.dropFirst(words.first == "rotate-keys" ? 2 : 1)
        let present = try tool.run(now.split(separator: " ").map(String.init) + rest)

        let lines = former.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines.contains { $0.hasPrefix("syncctl: “\(words[0])") && $0.contains("is now “\(now)”") },
            "\(former.output)")
        #expect(former.status == present.status)
        #expect(present.status != 64 || words.first == "mark-restored", "\(present.output)")
        #expect(lines.filter { !$0.contains(" is now “") }.joined(separator: "\n") == present.output)
    }

    @Test("A former name's standard output is unchanged, and help accepts the name")
    func formerOutput() throws {
        let key = try Command("/bin/sh", ["-c", tool.commandLine(plain: "generate-key") + " 2>/dev/null"])
        #expect(Data(base64Encoded: key.output.trimmingCharacters(in: .newlines))?.count == 32, "\(key.output)")
        let help = try tool.runPlain("help", "check-config")
        #expect(help.status == 0 && help.output.contains("syncctl config check --connect"), "\(help.output)")
    }

    @Test("With --json, standard error contains only one JSON object, even for former names, setup and usage errors")
    func errorsForPrograms() throws {
        let folder = try ScratchFolder("root")
        for (words, code) in [
            (["export-user", "0", "--json"], nil), (["users", "lst", "--json"], "usage"),
            (["setup", "--unattended", "--json", "--root", folder.path], "usage"),
        ] {
            let line = words.dropFirst().reduce(tool.commandLine(plain: words[0])) { "\($0) '\($1)'" }
            let run = try Command("/bin/sh", ["-c", line + " 2>&1 >/dev/null"])
            let error = try #require(JSONValue(Array(run.output.utf8))?.error, "\(words): \(run.output)")
            #expect(run.status != 0 && error.exitStatus?.integer == Int64(run.status), "\(words): \(run.output)")
            if let code { #expect(error.code?.text == code, "\(words): \(run.output)") }
        }
    }

    // MARK: New names

    @Test("backup list shows the backups of a folder with their times, ages and sizes")
    func backupList() throws {
        let folder = try ScratchFolder("backups")
        #expect(try tool.run("backup", "list", "--from", folder.path).output.hasSuffix("has no backup\n"))
        let made = try tool.json("backup", "make", "--into", folder.path)
        let path = try #require(made.path?.text)

        let listed = try tool.json("backup", "list", "--from", folder.path)

        let item = try #require(listed.items?.array?.first)
        #expect(item.name?.text == URL(filePath: path).lastPathComponent)
        #expect(item.takenAt?.text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        #expect(item.isCopied?.bool == false)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? NSNumber
        #expect(item.bytes?.integer == size?.int64Value)
        #expect(try tool.run("backup", "list", "--from", "/nowhere").status == 1)
    }
}
