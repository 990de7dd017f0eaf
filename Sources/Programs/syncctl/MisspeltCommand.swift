import ArgumentParser
import Configuration

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
