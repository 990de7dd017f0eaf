import ArgumentParser
import Configuration

/// A word of the command line that is no subcommand, and the one that it was probably meant to be, if any is near it. For
/// options the argument parser makes such suggestions itself.
struct MisspeltCommand {
    private let word: String
    private let suggestion: String?

    /// `nil` if there is no such word.
    /// - Parameter arguments: as they are now, whatever they were in former releases.
    init?(in arguments: some Sequence<String>) {
        var command: any ParsableCommand.Type = Syncctl.self
        for word in arguments where !word.hasPrefix("-") && word != "help" {
            let subcommands = command.configuration.subcommands
            if let next = subcommands.first(where: { $0._commandName == word }) {
                command = next
                continue
            }
            // Behind the last subcommand come its arguments.
            if subcommands.isEmpty { return nil }
            self.word = word
            suggestion = Spelling.suggestion(for: word, among: subcommands.map { $0._commandName })
            return
        }
        return nil
    }

    /// The parser's complaint about such a word, in its own form.
    private var complaint: String { "Unexpected argument '\(word)'" }

    private var hint: String { suggestion.map { ". Did you mean '\($0)'?" } ?? "" }

    /// The parser's message, with the suggestion where it complains about the word.
    func added(to message: String) -> String {
        guard let range = message.firstRange(of: complaint) else { return message }
        return message[..<range.upperBound] + hint + message[range.upperBound...]
    }

    /// What is said in the place of help for something that is not there.
    var messageInPlaceOfHelp: String {
        "Error: \(complaint)\(hint)\nUsage: syncctl help <subcommand>\n  See 'syncctl --help' for more information."
    }
}
