import HTTPTransport
import MariaDB
import OpenSSLCrypto
import Posix
import Providers
import SyncProtocol

/// Reads every setting once, in the order of the table in docs/operations.md.
struct SettingsReader {
    private static let logLevels = ["debug", "info", "notice", "warning", "error"]

    /// The default file of the sealing key.
    static let sealingKeyFile = "sealing-key"

    var reader: ConfigurationReader
    let files: SecretFiles
    /// The configuration file's own permission bits.
    let permissions: UInt32
    /// The role for which the file is read; `nil` for the operator.
    var role: ServerRole?
    /// The only secrets to read; `nil` for those that the role needs.
    var onlySecrets: Set<String>?
    /// The secrets found to be in files.
    private(set) var secretFiles: [SecretFile] = []
    /// The settings of secrets found in the file itself.
    private(set) var inlineSecrets: [String] = []
    /// Whether this process was not permitted to read a secret.
    private(set) var isDenied = false

    mutating func read() -> ServerConfiguration {
        let (database, roleAccounts) = database()
        let (sealingKey, formerSealingKeys) = sealingKeys()
        let nextSealingKey = nextSealingKey()
        let accounts = accounts()
        let push = push()
        var result = ServerConfiguration(
            database: database, sealingKey: sealingKey, formerSealingKeys: formerSealingKeys, accounts: accounts,
            push: push,
            log: log())
        result.nextSealingKey = nextSealingKey
        result.warningFile = warningFile()
        result.writesIndexPage = reader.bool("writesIndexPage", default: false)
        result.writesManifests = reader.bool("manifests.enabled", default: true)
        result.requiresOldAccountProof = reader.bool("requireOldAccountProof", default: false)
        result.allowsDirectTransfers = reader.bool("directTransfers", default: false)
        result.mimeTypes = mimeTypes()
        for setting in NumberSetting.all {
            if let number = reader.integer(setting.key, in: setting.range) { setting.write(&result, number) }
        }
        result.quotas = quotas()
        result.minimumIOSClientVersion = minimumVersion()
        result.sandbox = sandbox()
        result.metricsDirectory = metricsDirectory()
        result.changeSignal = changeSignal()
        result.roleAccounts = roleAccounts
        result.redirectURIs = redirectURIs(accounts)
        result.publicURL = publicURL()
        return result
    }

    /// The listed types, besides those that every client knows.
    private mutating func mimeTypes() -> MIMETypeTable {
        let key = "mimeTypes"
        guard reader.has(prefix: key) else { return .standard }
        var table = MIMETypeTable.deployed
        for text in reader.strings(key) {
            if let longer = table.adding([text]) {
                table = longer
            } else {
                reader.problem(
                    "mimeTypes: \(text) is not a MIME type in lower case, such as image/heic", at: key)
            }
        }
        return table
    }

    /// 0 means no limit, so that a default can be disabled.
    private mutating func quotas() -> Quotas {
        var quotas = Quotas.standard
        for quota in Quota.allCases {
            guard let limit = reader.integer("quotas.\(quota.rawValue)", in: 0...2_000_000_000) else { continue }
            quotas[quota] = limit == 0 ? nil : limit
        }
        return quotas
    }

    /// The owner's account with those of the roles; or, for a role that has one, only its own.
    private mutating func database() -> (ConnectionSettings, [ServerRole: ConnectionSettings]) {
        let owner = databaseOwner()
        var accounts: [ServerRole: ConnectionSettings] = [:]
        for each in ServerRole.allCases {
            let key = "database.roles.\(each.rawValue)"
            let isThere = reader.has(prefix: key)
            let user = isThere ? reader.required(key + ".user") : reader.string(key + ".user") ?? ""
            let password = secret(key + ".password")
            guard isThere else { continue }
            var account = owner
            account.user = user
            account.password = password?.value ?? ""
            accounts[each] = account
        }
        guard let role else { return (owner, accounts) }
        return (accounts[role] ?? owner, [:])
    }

    private mutating func databaseOwner() -> ConnectionSettings {
        let socket = reader.string("database.socket")
        let host = reader.string("database.host")
        let port = reader.integer("database.port", in: 1...65_535)
        if socket == nil, host == nil, !reader.has(prefix: "database.socket"), !reader.has(prefix: "database.host") {
            let older = reader.nameIfMissing("database.host")
            reader.problem(
                older == "database.host"
                    ? "either database.socket or database.host is required" : "\(older) is missing")
        }
        if socket != nil {
            for key in ["database.host", "database.port"] where reader.has(prefix: key) {
                reader.problem("\(reader.name(of: key)) and database.socket are mutually exclusive", at: key)
            }
        }
        if reader.name(of: "database.name") != "database.name" {
            reader.report(
                .note,
                "this server needs its own database; syncctl import copies the contents of SyncServerII's",
                at: "database.name")
        }
        let address: ConnectionSettings.Address =
            if let host { .tcp(host: host, port: UInt16(port ?? 3_306)) } else { .unixSocket(path: socket ?? "") }
        return ConnectionSettings(
            address: address, user: reader.required("database.user"),
            password: secret("database.password")?.value ?? "",
            database: reader.required("database.name"))
    }

    private mutating func sealingKeys() -> (current: Secret, former: [Secret]) {
        guard isNeeded("sealing.key") else {
            let isInline = secret("sealing.key") != nil && !reader.has(prefix: "sealing.keyFile")
            if !isInline, !reader.has(prefix: "sealing.keyFile") { noteSealingKeyFile() }
            for file in reader.strings("sealing.formerKeyFiles") {
                secretFiles.append(
                    SecretFile(
                        setting: "sealing.formerKeyFiles", name: file, readers: Set(ServerRole.allCases)))
            }
            return (Secret(""), [])
        }
        var known = reader.problems.count
        let current = secret("sealing.key") ?? sealingKeyByDefault()
        if reader.problems.count == known, !Self.isSealingKey(current) {
            let isInline = !reader.has(prefix: "sealing.keyFile") && reader.has(prefix: "sealing.key")
            let key = isInline ? "sealing.key" : "sealing.keyFile"
            reader.problem("\(key) cannot be used: \(Self.sealingKeyRule)", at: key)
        }
        known = reader.problems.count
        let former = secrets("sealing.formerKeyFiles")
        if reader.problems.count == known {
            for (index, key) in former.enumerated() where !Self.isSealingKey(key) {
                reader.problem(
                    "sealing.formerKeyFiles, number \(index + 1), cannot be used: \(Self.sealingKeyRule)",
                    at: "sealing.formerKeyFiles")
            }
        }
        return (current, former)
    }

    /// The rule for sealing keys, as the end of a sentence.
    static let sealingKeyRule = "it must be 32 bytes in base64, as printed by syncctl keys generate"

    private static func isSealingKey(_ secret: Secret) -> Bool { (try? SealingKey(base64: secret.value)) != nil }

    /// SyncServerII's files have no such key, but must still work.
    private mutating func sealingKeyByDefault() -> Secret {
        do {
            noteSealingKeyFile()
            return try files.read(Self.sealingKeyFile)
        } catch {
            isDenied = isDenied || error.isDenial
            reader.problem(
                "sealing.keyFile is missing, and \(files.path(Self.sealingKeyFile)) cannot be read either: \(error); "
                    + "syncctl keys generate creates a key")
            return Secret("")
        }
    }

    private mutating func noteSealingKeyFile() {
        secretFiles.append(
            SecretFile(
                setting: "sealing.key", name: Self.sealingKeyFile, readers: Set(ServerRole.allCases)))
    }

    /// The next sealing key. A service starts without it: nothing is sealed with it before every service has it, and
    /// systemd passes on a new file only after reloading its units.
    private mutating func nextSealingKey() -> Secret? {
        let key = "sealing.nextKeyFile"
        guard let file = reader.string(key), isNeeded("sealing.key") else { return nil }
        secretFiles.append(SecretFile(setting: key, name: file, readers: Set(ServerRole.allCases)))
        warnIfOpen(files.path(file), namedBy: key)
        let found: Secret
        do { found = try files.read(file) } catch {
            isDenied = isDenied || error.isDenial
            reader.report(
                role != nil && !files.isRehearsal ? .warning : .problem,
                "\(key) names \(files.path(file)), which cannot be read: \(error)", at: key)
            return nil
        }
        if !Self.isSealingKey(found) { reader.problem("\(key) cannot be used: \(Self.sealingKeyRule)", at: key) }
        return found
    }

    private mutating func publicURL() -> String? {
        guard let text = reader.string("publicURL") else { return nil }
        guard let address = ServerAddress(text) else {
            reader.problem(
                "publicURL must be the address of this server as clients use it, such as https://sync.example.com",
                at: "publicURL")
            return nil
        }
        if address.scheme == .http, address.hostKind == .domainName {
            reader.report(.warning, "publicURL is not https: tokens are sent unencrypted", at: "publicURL")
        }
        return address.origin + address.path.dropLast()
    }

    /// The listed URIs, and those of companies, which a caller may also name explicitly.
    private mutating func redirectURIs(_ accounts: [AccountType: SettingValues]) -> Set<String> {
        let listed = reader.strings("redirectURIs")
        for uri in listed where !Self.isRedirectURI(uri) {
            reader.problem(
                "redirectURIs: \(uri) is not an absolute URI without a fragment, in ASCII", at: "redirectURIs")
        }
        let ofCompanies = Company.signIns.flatMap { offer in
            offer.settings.filter { $0.kind == .redirectURI }.compactMap {
                accounts[offer.accountType]?.optionalText($0)
            }
        }
        return Set(listed + ofCompanies)
    }

    /// RFC 6749, section 3.1.2: absolute, and without a fragment.
    private static func isRedirectURI(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":"), let first = text.utf8.first else { return false }
        let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 0x20
        return isLetter && text.index(after: colon) < text.endIndex
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
    }

    private mutating func warningFile() -> ServerConfiguration.WarningFile? {
        let keys = ("owningUserAccountCreation.initialFileName", "owningUserAccountCreation.initialFileContents")
        let name = reader.string(keys.0)
        let contents = reader.string(keys.1)
        guard let name, let contents else {
            // As with the older server, no file is created in this case.
            if name != nil {
                reader.report(.warning, "\(keys.0) has no effect: \(keys.1) is missing", at: keys.0)
            } else if contents != nil {
                reader.report(.warning, "\(keys.1) has no effect: \(keys.0) is missing", at: keys.1)
            }
            return nil
        }
        return ServerConfiguration.WarningFile(name: name, contents: contents)
    }

    private mutating func minimumVersion() -> String? {
        guard let text = reader.string("iOSMinimumClientVersion") else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ UInt32($0) != nil }) else {
            reader.problem(
                "iOSMinimumClientVersion must be three numbers separated by dots, such as 1.2.3",
                at: "iOSMinimumClientVersion")
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
            reader.problem(
                "sandbox.connectTo must be a loopback address with a port, such as 127.0.0.1:8443",
                at: "sandbox.connectTo")
            return nil
        }
        return ServerConfiguration.Sandbox(host: host, port: port, caFile: files.path(caFile))
    }

    private mutating func metricsDirectory() -> String? {
        guard let path = reader.string("metrics.directory") else { return nil }
        if !path.hasPrefix("/") {
            reader.problem("metrics.directory must be an absolute path, such as /run/syncd/metrics")
        }
        return path
    }

    private mutating func changeSignal() -> ServerConfiguration.ChangeSignal? {
        let hasSeveralHosts = reader.bool("changeSignal.severalHosts", default: false)
        guard let path = reader.string("changeSignal.socket") else { return nil }
        if !path.hasPrefix("/") {
            reader.problem("changeSignal.socket must be an absolute path, such as /run/syncd/changes/publish.sock")
        }
        return ServerConfiguration.ChangeSignal(socket: path, hasSeveralHosts: hasSeveralHosts)
    }

    private mutating func log() -> ServerConfiguration.Log {
        let level = reader.string("log.level") ?? "notice"
        if !Self.logLevels.contains(level) {
            reader.problem("log.level must be one of \(Self.logLevels.joined(separator: ", "))", at: "log.level")
        }
        return ServerConfiguration.Log(file: reader.string("log.file"), level: level)
    }

    /// Whether a secret is read. A role ignores those of others, whether they exist or not.
    func isNeeded(_ key: String) -> Bool {
        onlySecrets?.contains(key) ?? role.map { readers(of: key).contains($0) } ?? true
    }

    /// The roles that need a secret. A role with a separate account must not use that of the database's owner.
    private func readers(of key: String) -> Set<ServerRole> {
        let readers = SettingCatalog.secretReaders[key] ?? []
        guard key == "database.password" else { return readers }
        return readers.filter { !reader.has(prefix: "database.roles.\($0.rawValue)") }
    }

    /// A secret given inline, or in the file named by the same key with the suffix `File`; empty if it is given but the
    /// role does not need it.
    mutating func secret(_ key: String) -> Secret? {
        let inline = reader.string(key)
        if inline != nil { inlineSecrets.append(key) }
        let file = reader.string(key + "File")
        if let file { secretFiles.append(SecretFile(setting: key, name: file, readers: readers(of: key))) }
        guard isNeeded(key) else { return inline == nil && file == nil ? nil : Secret("") }
        if inline != nil { noteInlineSecret(key) }
        guard let file else { return inline.map(Secret.init) }
        if inline != nil {
            reader.problem("\(reader.name(of: key)) and \(key)File are mutually exclusive", at: key + "File")
        }
        let path = files.path(file)
        warnIfOpen(path, namedBy: key + "File")
        do {
            return try files.read(file)
        } catch {
            isDenied = isDenied || error.isDenial
            reader.problem("\(key)File names \(path), which cannot be read: \(error)", at: key + "File")
            return Secret("")
        }
    }

    /// The secrets in the files that a list names.
    private mutating func secrets(_ key: String) -> [Secret] {
        var secrets: [Secret] = []
        for file in reader.strings(key) {
            secretFiles.append(SecretFile(setting: key, name: file, readers: Set(ServerRole.allCases)))
            warnIfOpen(files.path(file), namedBy: key)
            do {
                secrets.append(try files.read(file))
            } catch {
                isDenied = isDenied || error.isDenial
                reader.problem("\(key) names \(files.path(file)), which cannot be read: \(error)", at: key)
            }
        }
        return secrets
    }

    private mutating func warnIfOpen(_ path: String, namedBy key: String) {
        guard let mode = try? TextFile.permissions(of: path), mode & 0o007 != 0 else { return }
        reader.report(
            .warning,
            "\(key) names \(path), which anyone on this machine can read or write (mode \(Self.octal(mode)))",
            at: key)
    }

    private mutating func noteInlineSecret(_ key: String) {
        let name = reader.name(of: key)
        if permissions & 0o007 != 0 {
            reader.problem(
                "\(name) is a secret in a file that anyone on this machine can read or write "
                    + "(mode \(Self.octal(permissions)))",
                at: key)
        } else {
            reader.report(.warning, "\(name) is a secret: move it to a separate file, named by \(key)File", at: key)
        }
    }

    private static func octal(_ mode: UInt32) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    mutating func missing(_ key: String) -> Secret {
        // A wrong value has already been reported as a problem.
        if !reader.has(prefix: key), !reader.has(prefix: String(key.dropLast(4))) {
            reader.problem("\(key) is missing")
        }
        return Secret("")
    }
}
