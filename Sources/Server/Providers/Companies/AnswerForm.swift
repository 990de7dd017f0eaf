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

    /// Dropbox's app console shows it beside the secret.
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
