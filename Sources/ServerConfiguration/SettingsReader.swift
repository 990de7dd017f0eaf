internal import MariaDB
import Posix

/// Reads every setting once, in the order of the table in docs/operations.md.
struct SettingsReader {
    private static let logLevels = ["debug", "info", "notice", "warning", "error"]

    var reader: ConfigurationReader
    let files: SecretFiles

    mutating func read() -> ServerConfiguration {
        let database = database()
        let sealingKey = secret("sealing.key") ?? missing("sealing.keyFile")
        let formerSealingKeys = secrets("sealing.formerKeyFiles")
        let accounts = accounts()
        return ServerConfiguration(
            database: database, sealingKey: sealingKey, formerSealingKeys: formerSealingKeys,
            google: accounts.google, facebook: accounts.facebook,
            dropbox: accounts.dropbox, microsoft: accounts.microsoft, apple: apple(), push: push(),
            warningFile: warningFile(),
            maximumUploadBytes: Int64(reader.integer("maximumUploadBytes", in: 1...(1 << 42)) ?? 5 << 30),
            apiThreads: reader.integer("apiThreads", in: 1...1_024) ?? 8,
            transferThreads: reader.integer("transferThreads", in: 1...4_096) ?? 256,
            databaseConnections: reader.integer("databaseConnections", in: 1...256) ?? 8,
            signInTokenTimeToLive: .seconds(reader.integer("signInTokenTimeToLive", in: 0...86_400) ?? 300),
            maximumDevicesPerUser: reader.integer("maxNumberDeviceUUIDPerUser", in: 1...1_000_000),
            minimumIOSClientVersion: minimumVersion(),
            stagingLifetimeDays: reader.integer("stagingLifetimeDays", in: 1...3_650) ?? 7, sandbox: sandbox(),
            log: log())
    }

    private mutating func database() -> ConnectionSettings {
        let socket = reader.string("database.socket")
        let host = reader.string("database.host")
        let port = reader.integer("database.port", in: 1...65_535) ?? 3_306
        if (socket == nil) == (host == nil) {
            reader.problem("either database.socket or database.host is needed, and not both")
        }
        let address: ConnectionSettings.Address =
            if let host { .tcp(host: host, port: UInt16(port)) } else { .unixSocket(path: socket ?? "") }
        return ConnectionSettings(
            address: address, user: reader.required("database.user"),
            password: secret("database.password")?.value ?? "",
            database: reader.required("database.name"))
    }

    private mutating func accounts() -> (
        google: ServerConfiguration.Google?, facebook: ServerConfiguration.Facebook?,
        dropbox: ServerConfiguration.Dropbox?, microsoft: ServerConfiguration.Microsoft?
    ) {
        let allowsGoogle = reader.bool("allowedSignInTypes.Google", default: false)
        let allowsFacebook = reader.bool("allowedSignInTypes.Facebook", default: false)
        let allowsDropbox = reader.bool("allowedSignInTypes.Dropbox", default: false)
        let allowsMicrosoft = reader.bool("allowedSignInTypes.Microsoft", default: false)
        if !allowsGoogle && !allowsDropbox && !allowsMicrosoft {
            reader.problem(
                "allowedSignInTypes must allow at least one type that brings storage: Google, Dropbox, Microsoft")
        }
        let google = ServerConfiguration.Google(
            clientID: allowsGoogle
                ? reader.required("GoogleServerClientId") : reader.string("GoogleServerClientId") ?? "",
            clientSecret: secret("GoogleServerClientSecret")
                ?? (allowsGoogle ? missing("GoogleServerClientSecretFile") : Secret("")),
            otherClientIDs: reader.strings("googleClientIds"))
        let facebook = ServerConfiguration.Facebook(
            appID: allowsFacebook ? reader.required("FacebookClientId") : reader.string("FacebookClientId") ?? "",
            appSecret: secret("FacebookClientSecret")
                ?? (allowsFacebook ? missing("FacebookClientSecretFile") : Secret("")),
            graphVersion: reader.string("facebookGraphVersion") ?? "v25.0")
        let microsoft = ServerConfiguration.Microsoft(
            clientID: allowsMicrosoft ? reader.required("MicrosoftClientId") : reader.string("MicrosoftClientId") ?? "",
            clientSecret: secret("MicrosoftClientSecret")
                ?? (allowsMicrosoft ? missing("MicrosoftClientSecretFile") : Secret("")))
        let dropbox = ServerConfiguration.Dropbox(
            appKey: allowsDropbox ? reader.required("DropboxAppKey") : reader.string("DropboxAppKey") ?? "",
            appSecret: secret("DropboxAppSecret") ?? (allowsDropbox ? missing("DropboxAppSecretFile") : Secret("")),
            redirectURI: reader.string("DropboxRedirectURI"),
            allowsBareTokens: reader.bool("allowDropboxBareTokens", default: true))
        return (
            allowsGoogle ? google : nil, allowsFacebook ? facebook : nil, allowsDropbox ? dropbox : nil,
            allowsMicrosoft ? microsoft : nil
        )
    }

    private mutating func apple() -> ServerConfiguration.Apple? {
        let isAllowed = reader.bool("allowedSignInTypes.AppleSignIn", default: false)
        // Older servers' files have the redirect URI empty where none is used.
        let redirectURI = reader.string("appleSignIn.redirectURI").flatMap { $0.isEmpty ? nil : $0 }
        let apple = ServerConfiguration.Apple(
            clientID: appleText("clientId", isAllowed), teamID: appleText("teamId", isAllowed),
            keyID: appleText("keyId", isAllowed),
            privateKey: secret("appleSignIn.privateKey")
                ?? (isAllowed ? missing("appleSignIn.privateKeyFile") : Secret("")),
            redirectURI: redirectURI)
        return isAllowed ? apple : nil
    }

    private mutating func appleText(_ name: String, _ isRequired: Bool) -> String {
        let key = "appleSignIn." + name
        return isRequired ? reader.required(key) : reader.string(key) ?? ""
    }

    private mutating func warningFile() -> ServerConfiguration.WarningFile? {
        let name = reader.string("owningUserAccountCreation.initialFileName")
        let contents = reader.string("owningUserAccountCreation.initialFileContents")
        guard let name, let contents else {
            if name != nil || contents != nil {
                reader.problem("owningUserAccountCreation needs both initialFileName and initialFileContents, or none")
            }
            return nil
        }
        return ServerConfiguration.WarningFile(name: name, contents: contents)
    }

    private mutating func minimumVersion() -> String? {
        guard let text = reader.string("iOSMinimumClientVersion") else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ UInt32($0) != nil }) else {
            reader.problem("iOSMinimumClientVersion must be three numbers with dots, such as 1.2.3")
            return nil
        }
        return text
    }

    private mutating func sandbox() -> ServerConfiguration.Sandbox? {
        guard reader.has(prefix: "sandbox") else { return nil }
        let address = reader.required("sandbox.connectTo")
        let caFile = reader.required("sandbox.caFile")
        let colon = address.lastIndex(of: ":") ?? address.endIndex
        let host = String(address[..<colon])
        guard let port = Int(address[colon...].dropFirst()), (1...65_535).contains(port),
            ["127.0.0.1", "localhost", "[::1]"].contains(host)
        else {
            reader.problem("sandbox.connectTo must be a loopback address with a port, such as 127.0.0.1:8443")
            return nil
        }
        return ServerConfiguration.Sandbox(host: host, port: port, caFile: files.path(caFile))
    }

    private mutating func log() -> ServerConfiguration.Log {
        let level = reader.string("log.level") ?? "notice"
        if !Self.logLevels.contains(level) {
            reader.problem("log.level must be one of \(Self.logLevels.joined(separator: ", "))")
        }
        return ServerConfiguration.Log(file: reader.string("log.file"), level: level)
    }

    /// A secret that is given inline, or in the file that the same key with `File` names.
    mutating func secret(_ key: String) -> Secret? {
        let inline = reader.string(key)
        guard let file = reader.string(key + "File") else { return inline.map(Secret.init) }
        if inline != nil { reader.problem("\(key) and \(key)File exclude each other") }
        do {
            return try files.read(file)
        } catch {
            reader.problem("\(key)File names \(files.path(file)), which cannot be read: \(error)")
            return Secret("")
        }
    }

    /// The secrets in the files that a list names.
    private mutating func secrets(_ key: String) -> [Secret] {
        var secrets: [Secret] = []
        for file in reader.strings(key) {
            do {
                secrets.append(try files.read(file))
            } catch {
                reader.problem("\(key) names \(files.path(file)), which cannot be read: \(error)")
            }
        }
        return secrets
    }

    mutating func missing(_ key: String) -> Secret {
        reader.problem("\(key) is missing")
        return Secret("")
    }
}
