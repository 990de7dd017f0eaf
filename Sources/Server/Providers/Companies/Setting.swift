public import SyncProtocol

/// A setting that a company's services need: its key in the configuration file, what it may contain, and how
/// `syncctl setup` asks for it.
public struct Setting: Sendable {
    /// What a setting contains.
    public enum Kind: Sendable, Equatable {
        /// A text.
        case text
        /// Any number of texts.
        case texts
        /// Any number of addresses of servers, which may be in networks that are otherwise kept away.
        case servers
        /// `true` or `false`; `false` if the file does not have it, unless said otherwise.
        case bool(default: Bool)
        /// A redirect URI that callers may name with their authorization codes, like those of `redirectURIs`.
        case redirectURI
        /// A text that must never be printed: in the file itself, or in the file that the same key with the suffix
        /// `File` names. Only these roles need it.
        case secret(readers: Set<ServerRole>)
    }

    /// The name in the configuration file; a dot stands between an object and its member.
    public let key: String
    public let kind: Kind
    /// Whether the service cannot be used without it.
    public let isRequired: Bool
    /// How `syncctl setup` asks for it; `nil` if it does not.
    public let question: SetupQuestion?
    /// What is wrong with a text, with one of several, or with a secret, as the end of a sentence; `nil` if nothing is.
    public let objection: @Sendable (String) -> String?

    /// - Parameter objection: see ``Setting/objection``; called for values that are not empty.
    public init(
        _ key: String, _ kind: Kind, isRequired: Bool = false, question: SetupQuestion? = nil,
        objection: @escaping @Sendable (String) -> String? = { _ in nil }
    ) {
        self.key = key
        self.kind = kind
        self.isRequired = isRequired
        self.question = question
        self.objection = objection
    }

    /// A text without which the service cannot be used.
    public static func required(
        _ key: String, _ question: SetupQuestion, objection: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Setting {
        Setting(key, .text, isRequired: true, question: question, objection: objection)
    }

    /// A secret without which the service cannot be used.
    public static func secret(
        _ key: String, readers: Set<ServerRole> = Set(ServerRole.allCases), _ question: SetupQuestion,
        objection: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Setting {
        Setting(key, .secret(readers: readers), isRequired: true, question: question, objection: objection)
    }

    /// Whether its value must never be printed.
    public var isSecret: Bool { if case .secret = kind { true } else { false } }

    /// What is wrong with an answer of the operator, as the end of a sentence; `nil` if nothing is.
    ///
    /// Stricter than ``objection``: a form that a company gives to its ids is no reason to stop a server that runs.
    public func objection(toAnswer text: String) -> String? { question?.form?.objection(to: text) ?? objection(text) }
}

/// How `syncctl setup` asks for a setting.
public struct SetupQuestion: Sendable {
    /// How the answer is given.
    public enum Answer: Sendable, Equatable {
        /// By typing the value.
        case typed
        /// By typing several values, with blanks between them.
        case list
        /// By typing the secret, which is not shown, or by naming a file that contains it.
        /// - Parameter fileName: of the secret below `/etc/syncd/secrets`.
        case hidden(fileName: String)
        /// By naming a file that contains the secret, which is copied.
        /// - Parameter fileName: of the copy below `/etc/syncd/secrets`.
        case file(fileName: String)
    }

    /// What the operator reads, without the example and the punctuation at its end.
    public let text: String
    public let answer: Answer
    /// The form that an answer has, if the company gives it one.
    public let form: AnswerForm?
    /// The value with the sandbox's well-known registrations; `nil` if there is none.
    public let sandboxValue: String?

    public init(_ text: String, _ answer: Answer = .typed, form: AnswerForm? = nil, sandbox: String? = nil) {
        self.text = text
        self.answer = answer
        self.form = form
        sandboxValue = sandbox
    }

    /// Asks for the secret that belongs to the value before.
    public static func secret(fileName: String, sandbox: String? = nil) -> SetupQuestion {
        SetupQuestion("  Its secret (is not shown)", .hidden(fileName: fileName), sandbox: sandbox)
    }

    /// The name of the secret's file below `/etc/syncd/secrets`; `nil` if the answer is no secret.
    public var fileName: String? {
        switch answer {
        case .hidden(let name), .file(let name): name
        case .typed, .list: nil
        }
    }
}
