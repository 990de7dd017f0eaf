import ArgumentParser
import Configuration

/// A command line of releases before 1.1. It works for one more release, and prints its current form.
struct FormerCommand {
    /// The arguments in their current form.
    let arguments: [String]
    /// The message that names the command's current form.
    let notice: String

    /// Former words, and their replacements.
    private static let words: [(former: [String], now: [String])] = [
        (["check-config"], ["config", "check"]),
        (["generate-key"], ["keys", "generate"]),
        (["rotate-keys", "begin"], ["keys", "rotate", "begin"]),
        (["rotate-keys", "switch"], ["keys", "rotate", "switch"]),
        (["rotate-keys", "finish"], ["keys", "rotate", "finish"]),
        (["rotate-keys", "status"], ["keys", "rotate", "status"]),
        (["rotate-keys", "reseal"], ["keys", "reseal"]),
        (["rotate-keys"], ["keys", "reseal"]),
        (["copy-backup"], ["backup", "copy"]),
        (["verify-backup"], ["backup", "verify"]),
        (["restore"], ["backup", "restore"]),
        (["mark-restored"], ["backup", "mark-restored"]),
        (["export-user"], ["users", "export"]),
        (["erase-user"], ["users", "erase"]),
    ]
    /// The verbs of `backup`, which used to be a verb itself.
    private static let verbsOfBackup = ["make", "list", "verify", "copy", "restore", "mark-restored"]

    /// - Parameter arguments: those of the process.
    /// - Returns: `nil` if this is not a former form.
    init?(in arguments: some Collection<String>) {
        var line = Array(arguments)
        var start = 0
        if line.first == "help" { start = 1 }
        // Options of syncctl itself, each with its value, come before the command.
        while start < line.count, line[start].hasPrefix("--") {
            guard line[start] != "--help", line[start] != "--version" else { return nil }
            start += line[start].contains("=") ? 1 : 2
        }
        guard start < line.count else { return nil }
        let rest = line[start...]
        let former: [String]
        let now: [String]
        if let match = Self.words.first(where: { rest.starts(with: $0.former) }) {
            (former, now) = match
        } else if rest.first == "backup", rest.count > 1, line.first != "help" {
            let next = rest[start + 1]
            guard !Self.verbsOfBackup.contains(next), next != "--help", next != "-h", next != "help" else { return nil }
            (former, now) = (["backup"], ["backup", "make"])
        } else {
            return nil
        }
        line.replaceSubrange(start..<start + former.count, with: now)
        self.arguments = line
        notice =
            "syncctl: “\(former.joined(separator: " "))” is now “\(now.joined(separator: " "))”; the next release "
            + "removes the former name"
    }
}

/// A word of the command line that is not a subcommand, and the most similar subcommand, if any. For options, the
/// argument parser itself makes such suggestions.
struct MisspeltCommand {
    private let word: String
    private let suggestion: String?

    /// `nil` if there is no such word.
    /// - Parameter arguments: in their current form.
    init?(in arguments: some Sequence<String>) {
        var command: any ParsableCommand.Type = Syncctl.self
        for word in arguments where !word.hasPrefix("-") && word != "help" {
            let subcommands = command.configuration.subcommands
            if let next = subcommands.first(where: { $0._commandName == word }) {
                command = next
                continue
            }
            // The arguments follow the last subcommand.
            if subcommands.isEmpty { return nil }
            self.word = word
            suggestion = Spelling.suggestion(for: word, among: subcommands.map { $0._commandName })
            return
        }
        return nil
    }

    /// The parser's complaint about such a word, in its wording.
    private var complaint: String { "Unexpected argument '\(word)'" }

    private var hint: String { suggestion.map { ". Did you mean '\($0)'?" } ?? "" }

    /// The parser's message, with the suggestion added to the complaint about the word.
    func added(to message: String) -> String {
        guard let range = message.firstRange(of: complaint) else { return message }
        return message[..<range.upperBound] + hint + message[range.upperBound...]
    }

    /// The reply to a request for help with an unknown subcommand.
    var messageInPlaceOfHelp: String {
        "Error: \(complaint)\(hint)\nUsage: syncctl help <subcommand>\n  See 'syncctl --help' for more information."
    }
}
