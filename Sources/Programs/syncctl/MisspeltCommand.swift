import ArgumentParser
import Configuration

/// A word of the command line that is no subcommand, and the one that it was probably meant to be. For options the
/// argument parser makes such suggestions itself.
struct MisspeltCommand {
    private let word: String
    private let suggestion: String

    /// `nil` if there is no such word, or no subcommand is near it.
    init?(in arguments: some Sequence<String>) {
        var command: any ParsableCommand.Type = Syncctl.self
        for word in arguments where !word.hasPrefix("-") && word != "help" {
            let subcommands = command.configuration.subcommands
            if let next = subcommands.first(where: { $0._commandName == word }) {
                command = next
                continue
            }
            guard let suggestion = Spelling.suggestion(for: word, among: subcommands.map { $0._commandName }) else {
                return nil
            }
            (self.word, self.suggestion) = (word, suggestion)
            return
        }
        return nil
    }

    /// The parser's message, with the suggestion in the form of its own ones where it complains about the word.
    func added(to message: String) -> String {
        let complaint = "Unexpected argument '\(word)'"
        guard let range = message.firstRange(of: complaint) else { return message }
        return message[..<range.upperBound] + ". Did you mean '\(suggestion)'?" + message[range.upperBound...]
    }
}
