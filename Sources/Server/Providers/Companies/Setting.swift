public import SyncProtocol

/// A setting of a company's service: its key in the configuration file, its valid contents, and the question of
/// `syncctl setup` about it.
public struct Setting: Sendable {
    /// The type of a setting's value.
    public enum Kind: Sendable, Equatable {
        /// A text.
        case text
        /// Any number of texts.
        case texts
        /// Any number of server addresses, which may be in networks that are otherwise blocked.
        case servers
        /// `true` or `false`; `default` applies if the file does not contain the setting.
        case bool(default: Bool)
        /// A redirect URI that callers may send with their authorization codes, like those in `redirectURIs`.
        case redirectURI
        /// A text that must never be printed. It is in the configuration file, or in the file named by the same key
        /// with the suffix `File`. Only these roles need it.
        case secret(readers: Set<ServerRole>)
    }

    /// The name in the configuration file; a dot separates an object from its member.
    public let key: String
    public let kind: Kind
    /// Whether the service requires it.
    public let isRequired: Bool
    /// The question of `syncctl setup`; `nil` if setup does not ask for it.
    public let question: SetupQuestion?
    /// What is wrong with a text, one of several texts, or a secret, as the end of a sentence; `nil` if it is valid.
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

    /// A text that the service requires.
    public static func required(
        _ key: String, _ question: SetupQuestion, objection: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Setting {
        Setting(key, .text, isRequired: true, question: question, objection: objection)
    }

    /// A secret that the service requires.
    public static func secret(
        _ key: String, readers: Set<ServerRole> = Set(ServerRole.allCases), _ question: SetupQuestion,
        objection: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Setting {
        Setting(key, .secret(readers: readers), isRequired: true, question: question, objection: objection)
    }

    /// Whether its value must never be printed.
    public var isSecret: Bool { if case .secret = kind { true } else { false } }

    /// What is wrong with the operator's answer, as the end of a sentence; `nil` if it is valid.
    ///
    /// Stricter than ``objection``: an unusual form of a company's ID must not stop a running server.
    public func objection(toAnswer text: String) -> String? { question?.form?.objection(to: text) ?? objection(text) }
}

/// How `syncctl setup` asks for a setting.
public struct SetupQuestion: Sendable {
    /// How the answer is given.
    public enum Answer: Sendable, Equatable {
        /// The operator types the value.
        case typed
        /// The operator types several values, separated by blanks.
        case list
        /// The operator types the secret, which is not shown, or names a file that contains it.
        /// - Parameter fileName: the secret's file below `/etc/syncd/secrets`.
        case hidden(fileName: String)
        /// The operator names a file that contains the secret; setup copies it.
        /// - Parameter fileName: the copy below `/etc/syncd/secrets`.
        case file(fileName: String)
    }

    /// The question without the example and the final punctuation.
    public let text: String
    public let answer: Answer
    /// The form of the answer, if the company defines one.
    public let form: AnswerForm?
    /// The value for the sandbox's well-known registrations; `nil` if there is none.
    public let sandboxValue: String?

    public init(_ text: String, _ answer: Answer = .typed, form: AnswerForm? = nil, sandbox: String? = nil) {
        self.text = text
        self.answer = answer
        self.form = form
        sandboxValue = sandbox
    }

    /// Asks for the secret that belongs to the previous value.
    public static func secret(fileName: String, sandbox: String? = nil) -> SetupQuestion {
        SetupQuestion("  Its secret (hidden)", .hidden(fileName: fileName), sandbox: sandbox)
    }

    /// The name of the secret's file below `/etc/syncd/secrets`; `nil` if the answer is not a secret.
    public var fileName: String? {
        switch answer {
        case .hidden(let name), .file(let name): name
        case .typed, .list: nil
        }
    }
}
