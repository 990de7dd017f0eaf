import ArgumentParser
import Configuration
import Operations
import Providers
import Store

/// The options of `syncctl setup` about the server. Secrets are passed as files, because other users can read a command
/// line.
struct SetupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The DNS name by which phones reach this server.", valueName: "name"))
    var host: String?
    @Option(
        help: ArgumentHelp(
            "The address by which phones reach this server, if a proxy in front of it has another name or path; by "
                + "default https:// and the name.", valueName: "url"))
    var publicURL: String?
    @Option(
        help: ArgumentHelp(
            "The address or network of a TCP load balancer that sends the PROXY protocol; can be repeated. The word "
                + "none removes all of them.", valueName: "network"))
    var proxyProtocolFrom: [String] = []
    @Option(
        help: ArgumentHelp(
            "The certificate with its chain, in PEM. By default, a Let's Encrypt certificate where certbot stores it; "
                + "setup prepares nginx for it and explains how to obtain it.", valueName: "file"), completion: .file())
    var certificate: String?
    @Option(help: ArgumentHelp("The certificate's private key.", valueName: "file"), completion: .file())
    var key: String?
    @Flag(
        help: ArgumentHelp(
            "Obtain a certificate with certbot, and agree to the authority's terms: for Let's Encrypt, those at "
                + "https://letsencrypt.org/repository/."))
    var certbot = false
    @Option(
        help: ArgumentHelp(
            "The mail address for the authority's notices about the certificate.", valueName: "address"))
    var acmeMail: String?
    @Option(help: ArgumentHelp("The ACME directory of another authority.", valueName: "url"))
    var acmeServer: String?
    @Flag(
        help: ArgumentHelp(
            "For a trial without DNS and Let's Encrypt: issue a certificate from this host's own authority. Phones "
                + "reject it until they trust that authority."))
    var trial = false
    @Flag(
        help: ArgumentHelp(
            "With --trial: make programs on this host trust the authority, and add the host's name to /etc/hosts if "
                + "DNS does not resolve it. syncctl authority distrust undoes both."))
    var trustOnThisHost = false
    @Flag(
        help: ArgumentHelp(
            "Let each nginx process accept 4,096 connections instead of Debian's 768; changes /etc/nginx/nginx.conf."
        ))
    var nginxConnections = false
    @Flag(
        name: [.customLong("backups"), .customLong("nightly-backups")],
        help: "Make a backup every hour in /var/backups/syncd, and one now.")
    var makesBackups = false
    @Option(
        help: ArgumentHelp(
            "A SyncServerII's Server.json; its provider ids and secrets are used unless options give others.",
            valueName: "file"), completion: .file(extensions: ["json"]))
    var older: String?

    @Option(help: ArgumentHelp("The server's Google OAuth client id.", valueName: "id"))
    var googleClientId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var googleClientSecretFile: String?
    @Option(help: ArgumentHelp("A Google OAuth client id of an app; can be repeated.", valueName: "id"))
    var googleAppClientId: [String] = []
    @Option(help: ArgumentHelp("The Dropbox app key.", valueName: "key"))
    var dropboxAppKey: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var dropboxAppSecretFile: String?
    @Option(help: ArgumentHelp("The Microsoft application id.", valueName: "id"))
    var microsoftClientId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var microsoftClientSecretFile: String?
    @Option(help: ArgumentHelp("The Facebook app id.", valueName: "id"))
    var facebookAppId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var facebookAppSecretFile: String?
    @Option(help: ArgumentHelp("For Sign in with Apple: the app's identifier.", valueName: "id"))
    var appleClientId: String?
    @Option(help: ArgumentHelp("The Apple developer team.", valueName: "id"))
    var appleTeamId: String?
    @Option(help: ArgumentHelp("The name of the key for Sign in with Apple.", valueName: "id"))
    var appleKeyId: String?
    @Option(help: ArgumentHelp("That key, the .p8 file.", valueName: "file"), completion: .file())
    var applePrivateKeyFile: String?
    @Option(help: ArgumentHelp("For push through Apple: the developer team.", valueName: "id"))
    var apnsTeamId: String?
    @Option(help: ArgumentHelp("The name of the key for push.", valueName: "id"))
    var apnsKeyId: String?
    @Option(help: ArgumentHelp("The topic: the app's bundle identifier.", valueName: "id"))
    var apnsTopic: String?
    @Option(help: ArgumentHelp("That key, the .p8 file.", valueName: "file"), completion: .file())
    var apnsPrivateKeyFile: String?
    @Option(
        help: ArgumentHelp("For push through Firebase: the service account, a JSON file.", valueName: "file"),
        completion: .file())
    var fcmServiceAccountFile: String?
    @Option(help: ArgumentHelp("For push through Amazon's SNS: the access key's id.", valueName: "id"))
    var snsAccessKeyId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var snsSecretKeyFile: String?
    @Option(help: ArgumentHelp("The region, such as us-west-2.", valueName: "name"))
    var snsRegion: String?
    @Option(help: ArgumentHelp("The platform application in it.", valueName: "arn"))
    var snsPlatformApplicationArn: String?
    @Option(
        help: ArgumentHelp(
            "Any setting of a provider or push service by its configuration key, such as FacebookClientId; for a "
                + "secret, the file that contains it; can be repeated.", valueName: "key=value"))
    var set: [String] = []
    @Flag(
        help: ArgumentHelp(
            "Use the emulated providers of the package syncsandbox instead of real ones; for a new server."))
    var sandbox = false

    @Option(help: ArgumentHelp("MariaDB's unix socket.", valueName: "path"), completion: .file())
    var databaseSocket = "/run/mysqld/mysqld.sock"
    @Option(help: ArgumentHelp("A MariaDB on another host, instead of the socket.", valueName: "name"))
    var databaseHost: String?
    @Option(help: ArgumentHelp("Its port.", valueName: "number"))
    var databasePort = 3306
    @Option(help: ArgumentHelp("The name of the server's database.", valueName: "name"))
    var databaseName = HostedApp.current.databaseName
    @Option(help: ArgumentHelp("The server's database account.", valueName: "name"))
    var databaseUser = HostedApp.current.databaseUser
    @Option(help: ArgumentHelp("An account that may create databases and accounts.", valueName: "name"))
    var databaseAdminUser = "root"
    @Option(
        help: ArgumentHelp(
            "File with that account's password; without it, the user who runs setup must be able to log in through "
                + "the socket.", valueName: "file"),
        completion: .file())
    var databaseAdminPasswordFile: String?
    @Flag(
        help: ArgumentHelp(
            "Use the existing database and account without changing them. The password is in "
                + "/etc/syncd/secrets/database-password."))
    var existingDatabase = false

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key require each other.")
        }
        guard certbot || acmeMail == nil && acmeServer == nil else {
            throw ValidationError("--acme-mail and --acme-server require --certbot.")
        }
        guard !certbot || certificate == nil else {
            throw ValidationError("--certbot and --certificate exclude each other.")
        }
        guard !trial || certificate == nil && !certbot else {
            throw ValidationError("--trial excludes --certificate and --certbot.")
        }
        guard trial || !trustOnThisHost else { throw ValidationError("--trust-on-this-host requires --trial.") }
        guard !sandbox || older == nil else { throw ValidationError("--sandbox has its own ids and secrets.") }
        let companions: [(values: [String?], names: String)] = [
            ([appleClientId, appleTeamId, appleKeyId], "--apple-client-id, --apple-team-id and --apple-key-id"),
            ([apnsTeamId, apnsKeyId, apnsTopic], "--apns-team-id, --apns-key-id and --apns-topic"),
            (
                [snsAccessKeyId, snsRegion, snsPlatformApplicationArn],
                "--sns-access-key-id, --sns-region and --sns-platform-application-arn"
            ),
        ]
        for (values, names) in companions where Set(values.map { $0 == nil }).count > 1 {
            throw ValidationError("\(names) require each other.")
        }
        let secrets = [
            (googleClientId, googleClientSecretFile), (dropboxAppKey, dropboxAppSecretFile),
            (microsoftClientId, microsoftClientSecretFile), (facebookAppId, facebookAppSecretFile),
            (appleClientId, applePrivateKeyFile), (apnsKeyId, apnsPrivateKeyFile), (snsAccessKeyId, snsSecretKeyFile),
        ]
        for text in set where Self.assignment(text) == nil {
            throw ValidationError("--set \(text): \(Self.objection(toAssignment: text))")
        }
        guard
            !sandbox
                || set.isEmpty && fcmServiceAccountFile == nil && secrets.allSatisfy({ $0.0 == nil && $0.1 == nil })
        else {
            throw ValidationError("--sandbox has its own ids and secrets.")
        }
        guard secrets.allSatisfy({ $0.0 != nil || $0.1 == nil }) else {
            throw ValidationError("A secret was given without its id.")
        }
    }

    /// The answers given as options.
    var answers: SetupAnswers {
        var answers = SetupAnswers()
        answers.host = host ?? ""
        answers.publicURL = publicURL
        answers.balancers = proxyProtocolFrom.isEmpty ? nil : proxyProtocolFrom.filter { $0 != "none" }
        answers.makesBackups = makesBackups
        if certbot {
            answers.certificateRequest = SetupAnswers.CertificateRequest(mailAddress: acmeMail, directory: acmeServer)
        }
        if trial { answers.certificate = .ownAuthority }
        answers.trustsOwnAuthority = trustOnThisHost
        answers.raisesNginxConnections = nginxConnections
        if let certificate, let key { answers.certificate = .files(certificate: certificate, key: key) }
        answers.database =
            databaseHost.map { .tcp(host: $0, port: databasePort) } ?? .socket(databaseSocket)
        answers.databaseName = databaseName
        answers.databaseUser = databaseUser
        answers.usesRoleAccounts = !existingDatabase
        for (key, value) in namedSettings { answers.settings[key] = value }
        if sandbox { answers.useSandbox() }
        return answers
    }

    /// Whether the options leave open which certificate is used.
    var leavesCertificateOpen: Bool { certificate == nil && !certbot && !trial }

    /// Whether the options request a change of a host that is already set up, or the settings of a new one.
    var isChange: Bool {
        host != nil || publicURL != nil || !proxyProtocolFrom.isEmpty || !leavesCertificateOpen || sandbox
            || makesBackups || nginxConnections || older != nil || !answers.settings.isEmpty
    }

    /// The names by which the operator knows the answers, by the keys of the settings.
    var givers: [String: String] {
        var givers = Dictionary(uniqueKeysWithValues: (texts + files).map { ($0.key, $0.option) })
        givers["googleClientIds"] = "--google-app-client-id"
        for text in set { if let (setting, _) = Self.assignment(text) { givers[setting.key] = "--set \(setting.key)" } }
        return givers
    }

    private typealias Given = (key: String, option: String, value: String?)

    private var texts: [Given] {
        [
            ("GoogleServerClientId", "--google-client-id", googleClientId),
            ("DropboxAppKey", "--dropbox-app-key", dropboxAppKey),
            ("MicrosoftClientId", "--microsoft-client-id", microsoftClientId),
            ("FacebookClientId", "--facebook-app-id", facebookAppId),
            ("appleSignIn.clientId", "--apple-client-id", appleClientId),
            ("appleSignIn.teamId", "--apple-team-id", appleTeamId),
            ("appleSignIn.keyId", "--apple-key-id", appleKeyId), ("apns.teamId", "--apns-team-id", apnsTeamId),
            ("apns.keyId", "--apns-key-id", apnsKeyId), ("apns.topic", "--apns-topic", apnsTopic),
            ("awssns.accessKeyId", "--sns-access-key-id", snsAccessKeyId), ("awssns.region", "--sns-region", snsRegion),
            ("awssns.platformApplicationArn", "--sns-platform-application-arn", snsPlatformApplicationArn),
        ]
    }

    private var files: [Given] {
        [
            ("GoogleServerClientSecret", "--google-client-secret-file", googleClientSecretFile),
            ("DropboxAppSecret", "--dropbox-app-secret-file", dropboxAppSecretFile),
            ("MicrosoftClientSecret", "--microsoft-client-secret-file", microsoftClientSecretFile),
            ("FacebookClientSecret", "--facebook-app-secret-file", facebookAppSecretFile),
            ("appleSignIn.privateKey", "--apple-private-key-file", applePrivateKeyFile),
            ("apns.privateKey", "--apns-private-key-file", apnsPrivateKeyFile),
            ("fcm.serviceAccount", "--fcm-service-account-file", fcmServiceAccountFile),
            ("awssns.secretKey", "--sns-secret-key-file", snsSecretKeyFile),
        ]
    }

    /// The settings that have their own options, and those given with `--set`.
    private var namedSettings: [String: SetupAnswers.Answer] {
        var named: [String: SetupAnswers.Answer] = [:]
        for (key, _, text) in texts { named[Self.known(key)] = text.map { .text($0) } }
        if !googleAppClientId.isEmpty { named[Self.known("googleClientIds")] = .list(googleAppClientId) }
        for (key, option, file) in files {
            named[Self.known(key)] = file.map { .secret(.file($0, givenBy: "\(option) (\(key))")) }
        }
        for text in set {
            guard let (setting, value) = Self.assignment(text), let question = setting.question else { continue }
            named[setting.key] = SetupAnswers.Answer(value, to: question, givenBy: "--set \(setting.key)")
        }
        // A service's secret may already be stored.
        for settings in LastSetup.offers.map(\.settings) where settings.contains(where: { named[$0.key] != nil }) {
            for setting in settings where setting.isSecret && setting.question != nil && named[setting.key] == nil {
                named[setting.key] = .secret(nil)
            }
        }
        return named
    }

    /// The setting and the value of `KEY=VALUE`; `nil` if setup asks for no such setting.
    private static func assignment(_ text: String) -> (Setting, String)? {
        guard let sign = text.firstIndex(of: "="), let setting = settings.first(where: { $0.key == text[..<sign] })
        else {
            return nil
        }
        return (setting, String(text[text.index(after: sign)...]))
    }

    /// The objection to a text that is not an assignment.
    private static func objection(toAssignment text: String) -> String {
        let keys = settings.map(\.key)
        let key = String(text.prefix { $0 != "=" })
        guard let meant = Spelling.suggestion(for: key, among: keys) else {
            return "it must be KEY=VALUE with one of these keys: \(keys.joined(separator: ", "))"
        }
        return key == meant
            ? "it must be \(key)=VALUE" : "there is no setting \(key); did you mean \(meant)?"
    }

    /// The key of an option; it must be the key of a setting.
    private static func known(_ key: String) -> String {
        precondition(settings.contains { $0.key == key }, "\(key) is not a setting that setup asks for")
        return key
    }

    /// The settings that `--set` accepts.
    private static let settings = (Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings))
        .filter { $0.question != nil }
}
