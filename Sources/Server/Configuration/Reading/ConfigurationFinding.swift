/// Something that an operator should know about a configuration file.
public struct ConfigurationFinding: Sendable, Equatable {
    public enum Kind: Sendable {
        /// The server does not start.
        case problem
        /// The server starts, but somebody should fix the problem.
        case warning
        /// Information only.
        case note
    }

    public var kind: Kind
    /// The position; `nil` if the finding is about something missing.
    public var place: TextPlace?
    /// Names the setting; contains no secret.
    public var sentence: String
}

extension ConfigurationFinding: CustomStringConvertible {
    public var description: String { place.map { "\($0): \(sentence)" } ?? sentence }
}

/// Everything that is wrong with a configuration file.
public struct ConfigurationError: Error, CustomStringConvertible {
    public var path: String
    /// Problems, in the order of the file, then those without a place; never empty.
    public var problems: [ConfigurationFinding]
    /// Other findings about the file: warnings and notes.
    public var notes: [ConfigurationFinding]
    /// Whether this process was not permitted to read the file or a secret, whose contents then remain unchecked.
    public var isDenied: Bool

    /// - Parameter problems: at least one.
    public init(
        path: String, problems: [ConfigurationFinding], notes: [ConfigurationFinding] = [], isDenied: Bool = false
    ) {
        self.path = path
        self.problems = problems
        self.notes = notes
        self.isDenied = isDenied
    }

    /// An error about problems that have no place in the file.
    public init(path: String, problems: [String]) {
        self.init(path: path, problems: problems.map { ConfigurationFinding(kind: .problem, sentence: $0) })
    }

    /// The problems as sentences for the operator; they contain no secret.
    public var description: String {
        "\(path):\n" + problems.map { "  - \($0)" }.joined(separator: "\n")
    }
}
