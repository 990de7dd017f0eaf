import ArgumentParser
import Configuration
import Operations
import Providers
import Store

/// The options of `syncctl setup` about the server. Secrets are passed as files, since other users can read a command
/// line.
struct SetupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The name in DNS by which phones reach this server.", valueName: "name"))
    var host: String?
    @Option(
        help: ArgumentHelp(
            "The address by which phones reach this server, if another proxy in front of it has another name or path; else "
                + "https:// and the name.", valueName: "url"))
    var publicURL: String?
    @Option(
        help: ArgumentHelp(
            "The address or network of a TCP load balancer in front that sends the PROXY protocol; may be repeated. "
                + "The word none removes all of them.", valueName: "network"))
    var proxyProtocolFrom: [String] = []
    @Option(
        help: ArgumentHelp(
            "The certificate with its chain, in PEM. Without it, one of Let's Encrypt where certbot puts it; setup "
                + "prepares nginx for it and says how to get it.", valueName: "file"), completion: .file())
    var certificate: String?
    @Option(help: ArgumentHelp("The certificate's private key.", valueName: "file"), completion: .file())
    var key: String?
    @Flag(
        help: ArgumentHelp(
            "Get a certificate with certbot, and agree to the authority's terms: for Let's Encrypt, those at "
                + "https://letsencrypt.org/repository/."))
    var certbot = false
    @Option(help: ArgumentHelp("Whom the authority may write to about the certificate.", valueName: "address"))
    var acmeMail: String?
    @Option(help: ArgumentHelp("The directory of another authority that speaks ACME.", valueName: "url"))
    var acmeServer: String?
    @Flag(
        help: ArgumentHelp(
            "For a trial without DNS and Let's Encrypt: make a certificate with an authority of this host's own. Phones refuse it "
                + "until they trust that authority."))
    var trial = false
    @Flag(
        help: ArgumentHelp(
            "With --trial: let programs on this host trust the authority, and find the host's name by /etc/hosts if DNS has none. "
                + "syncctl authority distrust takes both back."))
    var trustOnThisHost = false
    @Flag(
        help: ArgumentHelp(
            "Let each of nginx's processes take 4,096 connections instead of Debian's 768; changes /etc/nginx/nginx.conf."
        ))
    var nginxConnections = false
    @Flag(
        name: [.customLong("backups"), .customLong("nightly-backups")],
        help: "Make a backup every hour, into /var/backups/syncd, and one now.")
    var makesBackups = false
    @Option(
        help: ArgumentHelp(
            "A SyncServerII's Server.json, whose ids and secrets of providers are taken where no option gives others.",
            valueName: "file"), completion: .file(extensions: ["json"]))
    var older: String?

    @Option(help: ArgumentHelp("The server's OAuth client id at Google.", valueName: "id"))
    var googleClientId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var googleClientSecretFile: String?
    @Option(help: ArgumentHelp("OAuth client id of an app at Google; may be repeated.", valueName: "id"))
    var googleAppClientId: [String] = []
    @Option(help: ArgumentHelp("The app's key at Dropbox.", valueName: "key"))
    var dropboxAppKey: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var dropboxAppSecretFile: String?
    @Option(help: ArgumentHelp("The application id at Microsoft.", valueName: "id"))
    var microsoftClientId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var microsoftClientSecretFile: String?
    @Option(help: ArgumentHelp("The app's id at Facebook.", valueName: "id"))
    var facebookAppId: String?
    @Option(help: ArgumentHelp("File with its secret.", valueName: "file"), completion: .file())
    var facebookAppSecretFile: String?
    @Option(help: ArgumentHelp("For Sign in with Apple: the app's identifier.", valueName: "id"))
    var appleClientId: String?
    @Option(help: ArgumentHelp("The developer team at Apple.", valueName: "id"))
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
            "Any setting of a provider or push service by its key in the configuration, such as FacebookClientId; of a "
                + "secret, the file that contains it; may be repeated.", valueName: "key=value"))
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
    @Option(help: ArgumentHelp("The server's account in it.", valueName: "name"))
    var databaseUser = HostedApp.current.databaseUser
    @Option(help: ArgumentHelp("Who may make databases and accounts.", valueName: "name"))
    var databaseAdminUser = "root"
    @Option(
        help: ArgumentHelp(
            "File with that account's password; without it, the socket has to know who runs setup.", valueName: "file"),
        completion: .file())
    var databaseAdminPasswordFile: String?
    @Flag(
        help: ArgumentHelp(
            "Database and account are there: leave them alone. The password lies in "
                + "/etc/syncd/secrets/database-password."))
    var existingDatabase = false

    func validate() throws {
        guard (certificate == nil) == (key == nil) else {
            throw ValidationError("--certificate and --key belong together.")
        }
        guard certbot || acmeMail == nil && acmeServer == nil else {
            throw ValidationError("--acme-mail and --acme-server are for --certbot.")
        }
        guard !certbot || certificate == nil else {
            throw ValidationError("--certbot gets a certificate; --certificate names one.")
        }
        guard !trial || certificate == nil && !certbot else {
            throw ValidationError("--trial makes a certificate; --certificate names one, and --certbot gets one.")
        }
        guard trial || !trustOnThisHost else { throw ValidationError("--trust-on-this-host is for --trial.") }
        guard !sandbox || older == nil else { throw ValidationError("--sandbox has ids and secrets of its own.") }
        let companions: [(values: [String?], names: String)] = [
            ([appleClientId, appleTeamId, appleKeyId], "--apple-client-id, --apple-team-id and --apple-key-id"),
            ([apnsTeamId, apnsKeyId, apnsTopic], "--apns-team-id, --apns-key-id and --apns-topic"),
            (
                [snsAccessKeyId, snsRegion, snsPlatformApplicationArn],
                "--sns-access-key-id, --sns-region and --sns-platform-application-arn"
            ),
        ]
        for (values, names) in companions where Set(values.map { $0 == nil }).count > 1 {
            throw ValidationError("\(names) belong together.")
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
            throw ValidationError("--sandbox has ids and secrets of its own.")
        }
        guard secrets.allSatisfy({ $0.0 != nil || $0.1 == nil }) else {
            throw ValidationError("A secret was given without the id that it belongs to.")
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

    /// Whether the options say what is to be set up, or to be changed on a host that is.
    var isChange: Bool {
        host != nil || publicURL != nil || !proxyProtocolFrom.isEmpty || !leavesCertificateOpen || sandbox
            || makesBackups || nginxConnections || older != nil || !answers.settings.isEmpty
    }

    /// What the operator knows the answers by, by the keys of the settings.
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

    /// The settings that have options of their own, and those given with `--set`.
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
        // The secret of a service may be in its place already.
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

    /// What is wrong with a text that is no assignment.
    private static func objection(toAssignment text: String) -> String {
        let keys = settings.map(\.key)
        let key = String(text.prefix { $0 != "=" })
        guard let meant = Spelling.suggestion(for: key, among: keys) else {
            return "it must be KEY=VALUE with one of these keys: \(keys.joined(separator: ", "))"
        }
        return key == meant
            ? "it must be \(key)=VALUE" : "there is no setting \(key) to ask for; did you mean \(meant)?"
    }

    /// The key of an option, which must be that of a setting.
    private static func known(_ key: String) -> String {
        precondition(settings.contains { $0.key == key }, "\(key) is not a setting that setup asks for")
        return key
    }

    /// What may be given with `--set`.
    private static let settings = (Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings))
        .filter { $0.question != nil }
}
