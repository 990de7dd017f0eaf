/// The first configuration of a server, as a person would have written it.
public enum ConfigurationText {
    /// The text of `syncd.json`; it contains no secret.
    public static func make(_ answers: SetupAnswers) -> String {
        var members: [(String, Value)] = [
            ("database", .object(database(answers))),
            ("sealing", .object([("keyFile", .text(SecretName.sealingKey.rawValue))])),
            (
                "allowedSignInTypes",
                .object([
                    ("Google", .bool(answers.google != nil)), ("Dropbox", .bool(answers.dropbox != nil)),
                    ("Microsoft", .bool(answers.microsoft != nil)), ("Facebook", .bool(answers.facebook != nil)),
                    ("AppleSignIn", .bool(answers.apple != nil)),
                ])
            ),
        ]
        if let google = answers.google {
            members += registration("GoogleServerClientId", google, "GoogleServerClientSecret", .google)
            members.append(("googleClientIds", .list(answers.googleAppClientIDs)))
        }
        if let dropbox = answers.dropbox {
            members += registration("DropboxAppKey", dropbox, "DropboxAppSecret", .dropbox)
        }
        if let microsoft = answers.microsoft {
            members += registration("MicrosoftClientId", microsoft, "MicrosoftClientSecret", .microsoft)
        }
        if let facebook = answers.facebook {
            members += registration("FacebookClientId", facebook, "FacebookClientSecret", .facebook)
        }
        if let apple = answers.apple {
            members.append(
                (
                    "appleSignIn",
                    .object([
                        ("clientId", .text(apple.clientID)), ("teamId", .text(apple.teamID)),
                        ("keyId", .text(apple.keyID)), ("privateKeyFile", .text(SecretName.apple.rawValue)),
                    ])
                ))
        }
        members += SecretName.ofPush.compactMap { pushMember($0, answers) }
        members.append(
            (
                "owningUserAccountCreation",
                .object([("initialFileName", .text("README.txt")), ("initialFileContents", .text(initialFile))])
            ))
        if let sandbox = answers.sandbox {
            members.append(
                (
                    "sandbox",
                    .object([("connectTo", .text(sandbox.connectTo)), ("caFile", .text(sandbox.caFile))])
                ))
        }
        return Value.object(members).text(indented: 0) + "\n"
    }

    /// The member for one push service, as written in the file; `nil` if the answers lack it.
    static func push(_ service: SecretName, _ answers: SetupAnswers) -> String? {
        pushMember(service, answers).map { "  \"\($0.0)\": \($0.1.text(indented: 1))" }
    }

    private static func pushMember(_ service: SecretName, _ answers: SetupAnswers) -> (String, Value)? {
        switch service {
        case .apns:
            answers.apns.map {
                (
                    "apns",
                    .object([
                        ("teamId", .text($0.teamID)), ("keyId", .text($0.keyID)),
                        ("privateKeyFile", .text(service.rawValue)), ("topic", .text($0.topic)),
                    ])
                )
            }
        case .fcm: answers.fcm.map { _ in ("fcm", .object([("serviceAccountFile", .text(service.rawValue))])) }
        case .sns:
            answers.sns.map {
                (
                    "awssns",
                    .object([
                        ("accessKeyId", .text($0.accessKeyID)), ("secretKeyFile", .text(service.rawValue)),
                        ("region", .text($0.region)), ("platformApplicationArn", .text($0.platformApplicationARN)),
                    ])
                )
            }
        default: nil
        }
    }

    private static let initialFile = """
        The files in this folder belong to an app that keeps them in step on all your devices.
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

    private static func registration(
        _ idKey: String, _ registration: SetupAnswers.Registration, _ secretKey: String, _ secret: SecretName
    ) -> [(String, Value)] {
        [(idKey, .text(registration.id)), (secretKey + "File", .text(secret.rawValue))]
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
