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
        /// The operator types several values, separated by spaces.
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
    /// The value for the sandbox's well-known registrations, or `nil`.
    public let sandboxValue: String?
    /// The option for the answer; `nil` if only `--set` gives it.
    public let option: SetupOption?

    public init(
        _ text: String, _ answer: Answer = .typed, form: AnswerForm? = nil, sandbox: String? = nil,
        option: SetupOption? = nil
    ) {
        self.text = text
        self.answer = answer
        self.form = form
        sandboxValue = sandbox
        self.option = option
    }

    /// Asks for the secret that belongs to the previous value.
    /// - Parameter option: the name of the option for the file that contains it.
    public static func secret(fileName: String, sandbox: String? = nil, option: String? = nil) -> SetupQuestion {
        SetupQuestion(
            "  Its secret (hidden)", .hidden(fileName: fileName), sandbox: sandbox,
            option: option.map { SetupOption.file($0, "File with its secret.") })
    }

    /// The name of the secret's file below `/etc/syncd/secrets`; `nil` if the answer is not a secret.
    public var fileName: String? {
        switch answer {
        case .hidden(let name), .file(let name): name
        case .typed, .list: nil
        }
    }
}

/// An option of `syncctl setup` for the answer to a question.
public struct SetupOption: Sendable {
    /// The name without the dashes.
    public let name: String
    /// The placeholder of the value in the help.
    public let valueName: String
    public let help: String

    init(_ name: String, _ valueName: String, _ help: String) {
        self.name = name
        self.valueName = valueName
        self.help = help
    }

    /// An option for the file that contains a secret.
    static func file(_ name: String, _ help: String) -> SetupOption { SetupOption(name, "file", help) }
}

/// The form of a company's IDs; `syncctl setup` uses it to recognize an answer to a different question.
public struct AnswerForm: Sendable {
    /// An example of an answer.
    public let example: String
    /// The rule for an answer, as the end of a sentence.
    private let rule: String
    private let isMet: @Sendable (String) -> Bool

    init(_ rule: String, example: String, isMet: @escaping @Sendable (String) -> Bool) {
        self.rule = rule
        self.example = example
        self.isMet = isMet
    }

    /// What is wrong with an answer, as the end of a sentence; `nil` if the answer is valid.
    public func objection(to text: String) -> String? {
        isMet(text) ? nil : "must be \(rule), such as \(example)"
    }

    /// Google Cloud, "Setting up OAuth 2.0": the ID ends in this domain.
    static let googleClientID = AnswerForm(
        "an OAuth client ID ending in .apps.googleusercontent.com",
        example: "123456789-abc.apps.googleusercontent.com"
    ) { text in
        let suffix = ".apps.googleusercontent.com"
        return text.hasSuffix(suffix) && text.utf8.count > suffix.utf8.count
            && text.utf8.allSatisfy { isLetterOrDigit($0) || "-._".utf8.contains($0) }
    }

    /// Dropbox's app console shows it next to the secret.
    static let dropboxAppKey = AnswerForm("an app key of lower-case letters and digits", example: "a1b2c3d4e5f6g7h") {
        text in
        !text.isEmpty && text.utf8.allSatisfy { isLetterOrDigit($0) } && text == text.lowercased()
    }

    /// Microsoft Entra, "Register an application": a GUID.
    static let microsoftApplicationID = AnswerForm(
        "an application (client) ID", example: "11111111-2222-3333-4444-555555555555"
    ) { text in
        text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count) == [8, 4, 4, 4, 12]
            && text.allSatisfy { $0 == "-" || $0.isHexDigit }
    }

    /// Meta's app dashboard shows it as a number.
    static let facebookAppID = AnswerForm("an app ID of digits", example: "123456789012345") { text in
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Apple, "CFBundleIdentifier": letters, digits, hyphens and periods.
    static let appleIdentifier = AnswerForm("the identifier of an app", example: "com.example.app") { text in
        text.contains(".") && !text.hasPrefix(".") && !text.hasSuffix(".")
            && text.utf8.allSatisfy { isLetterOrDigit($0) || "-.".utf8.contains($0) }
    }

    /// IDs of teams and keys in Apple's developer account.
    static let appleTenCharacters = AnswerForm(
        "an ID of ten capital letters and digits", example: "A1B2C3D4E5"
    ) { text in
        text.utf8.count == 10 && text.utf8.allSatisfy { isLetterOrDigit($0) } && text == text.uppercased()
    }

    /// AWS, "AccessKey" in the IAM API reference: 16 to 128 word characters.
    static let awsAccessKeyID = AnswerForm("an access key ID", example: "AKIAIOSFODNN7EXAMPLE") { text in
        (16...128).contains(text.utf8.count) && text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Accepts every answer; ``Setting/objection`` checks more.
    static func any(example: String) -> AnswerForm { AnswerForm("", example: example) { _ in true } }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

/// The settings of one service as read from a configuration file.
public struct SettingValues: Sendable {
    private var texts: [String: String] = [:]
    private var lists: [String: [String]] = [:]
    private var flags: [String: Bool] = [:]

    public init() {}

    /// A text; empty if absent.
    public func text(_ setting: Setting) -> String { texts[setting.key] ?? "" }

    /// A text; `nil` if absent or empty.
    public func optionalText(_ setting: Setting) -> String? { texts[setting.key].flatMap { $0.isEmpty ? nil : $0 } }

    /// A list of texts; empty if absent.
    public func list(_ setting: Setting) -> [String] { lists[setting.key] ?? [] }

    public func flag(_ setting: Setting) -> Bool {
        if case .bool(let fallback) = setting.kind { flags[setting.key] ?? fallback } else { false }
    }

    /// A secret; `nil` if absent, or if the role that read the file does not need it.
    public func secret(_ setting: Setting) -> Secret? { optionalText(setting).map(Secret.init) }

    /// The text of ``secret(_:)``; empty if absent.
    func secretText(_ setting: Setting) -> String { text(setting) }

    public mutating func set(_ setting: Setting, to text: String?) { texts[setting.key] = text }
    public mutating func set(_ setting: Setting, to list: [String]) { lists[setting.key] = list }
    public mutating func set(_ setting: Setting, to flag: Bool) { flags[setting.key] = flag }
}

// Hides the contents, which include secrets.
extension SettingValues: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
