import Providers
import SyncProtocol

/// The first configuration of a server, formatted as a person would write it.
public enum ConfigurationText {
    /// The text of `syncd.json`; it contains no secret.
    public static func make(_ answers: SetupAnswers) -> String {
        var members: [(String, Value)] = [
            ("database", .object(database(answers))),
            ("sealing", .object([("keyFile", .text(SecretName.sealingKey.rawValue))])),
            (
                "allowedSignInTypes",
                .object(Company.signIns.map { ($0.accountType.rawValue, .bool(answers.has($0.settings))) })
            ),
        ]
        for settings in Company.signIns.map(\.settings) + Company.pushes.map(\.settings) where answers.has(settings) {
            members += self.members(settings, answers)
        }
        members.append(("publicURL", .text(answers.publicURL ?? SetupAnswers.usualURL(ofHost: answers.host))))
        members.append(
            (
                "owningUserAccountCreation",
                .object([("initialFileName", .text("README.txt")), ("initialFileContents", .text(initialFile))])
            ))
        members.append(("metrics", .object([("directory", .text(SetupPaths.metrics))])))
        if answers.passesSignals {
            members.append(("changeSignal", .object([("socket", .text(SetupPaths.signalSocket))])))
        }
        if let sandbox = answers.sandbox {
            members.append(
                (
                    "sandbox",
                    .object([("connectTo", .text(sandbox.connectTo)), ("caFile", .text(sandbox.caFile))])
                ))
        }
        return Value.object(members).text(indented: 0) + "\n"
    }

    /// The members for the settings of one service; keys with a dot become members of an object.
    private static func members(_ settings: [Setting], _ answers: SetupAnswers) -> [(String, Value)] {
        var plain: [(String, Value)] = []
        var sections: [(name: String, members: [(String, Value)])] = []
        for setting in settings {
            guard let (key, value) = member(setting, answers) else { continue }
            let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
            guard parts.count == 2 else {
                plain.append((key, value))
                continue
            }
            if sections.last?.name != parts[0] { sections.append((parts[0], [])) }
            sections[sections.count - 1].members.append((parts[1], value))
        }
        return plain + sections.map { ($0.name, .object($0.members)) }
    }

    private static func member(_ setting: Setting, _ answers: SetupAnswers) -> (String, Value)? {
        guard let answer = answers.settings[setting.key] else {
            return setting.question?.answer == .list ? (setting.key, .list([])) : nil
        }
        return member(setting, answer)
    }

    private static func member(_ setting: Setting, _ answer: SetupAnswers.Answer) -> (String, Value)? {
        switch answer {
        case .text(let text): (setting.key, .text(text))
        case .list(let texts): (setting.key, .list(texts))
        case .secret: SecretName(setting).map { (setting.key + "File", .text($0.rawValue)) }
        }
    }

    /// The change that applies an answer to an existing configuration.
    static func change(_ setting: Setting, to answer: SetupAnswers.Answer) -> SettingChange? {
        member(setting, answer).map { SettingChange(key: $0.0, json: $0.1.compactText) }
    }

    /// The change that sets the server's public URL in an existing configuration.
    static func change(publicURL: String) -> SettingChange {
        SettingChange(key: "publicURL", json: Value.text(publicURL).compactText)
    }

    /// The change that turns on metrics in an existing configuration.
    static var metricsChange: SettingChange {
        SettingChange(key: "metrics.directory", json: Value.text(SetupPaths.metrics).compactText)
    }

    /// The change that names nginx's publisher of signals in an existing configuration.
    static var signalChange: SettingChange {
        SettingChange(key: "changeSignal.socket", json: Value.text(SetupPaths.signalSocket).compactText)
    }

    private static let initialFile = """
        The files in this folder belong to an app that keeps them in sync on all your devices.
        Please do not change, rename or delete them here: use the app.

        """

    private static func database(_ answers: SetupAnswers) -> [(String, Value)] {
        let address: [(String, Value)] =
            switch answers.database {
            case .socket(let path): [("socket", .text(path))]
            case .tcp(let host, let port): [("host", .text(host)), ("port", .number(port))]
            }
        let owner: [(String, Value)] = [
            ("name", .text(answers.databaseName)), ("user", .text(answers.databaseUser)),
            ("passwordFile", .text(SecretName.databasePassword.rawValue)),
        ]
        guard answers.usesRoleAccounts else { return address + owner }
        var roles: [(String, Value)] = []
        for secret in SecretName.ofRoles {
            guard let role = secret.role else { continue }
            roles.append(
                (
                    role,
                    .object([
                        ("user", .text(answers.databaseUser(ofRole: role))), ("passwordFile", .text(secret.rawValue)),
                    ])
                ))
        }
        return address + owner + [("roles", .object(roles))]
    }

    /// JSON in the order given.
    private indirect enum Value {
        case text(String)
        case number(Int)
        case bool(Bool)
        case list([String])
        case object([(String, Value)])

        func text(indented depth: Int) -> String {
            let inner = String(repeating: "  ", count: depth + 1)
            let end = "\n" + String(repeating: "  ", count: depth)
            switch self {
            case .text(let text): return Self.quoted(text)
            case .number(let number): return "\(number)"
            case .bool(let value): return "\(value)"
            case .list(let items):
                return items.isEmpty
                    ? "[]" : "[\n" + items.map { inner + Self.quoted($0) }.joined(separator: ",\n") + end + "]"
            case .object(let members):
                let lines = members.map { "\(inner)\(Self.quoted($0.0)): \($0.1.text(indented: depth + 1))" }
                return "{\n" + lines.joined(separator: ",\n") + end + "}"
            }
        }

        /// The value on one line; it must not be an object.
        var compactText: String {
            if case .list(let items) = self { return "[\(items.map(Self.quoted).joined(separator: ", "))]" }
            return text(indented: 0)
        }

        private static func quoted(_ text: String) -> String {
            var result = "\""
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\"", "\\": result += "\\\(scalar)"
                case "\n": result += "\\n"
                case _ where scalar.value < 0x20:
                    let digits = String(scalar.value, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                default: result.unicodeScalars.append(scalar)
                }
            }
            return result + "\""
        }
    }
}
