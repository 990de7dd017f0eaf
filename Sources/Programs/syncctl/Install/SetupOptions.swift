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
            "The email address for the authority's notices about the certificate.", valueName: "address"))
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
        help: ArgumentHelp(
            "Let clients learn of changes at once instead of polling every few seconds; needs nginx's module nchan "
                + "(apt install libnginx-mod-nchan)."))
    var changes = false
    @Flag(
        name: [.customLong("backups"), .customLong("nightly-backups")],
        help: "Make a backup every hour in /var/backups/syncd, and one now.")
    var makesBackups = false
    @Option(
        help: ArgumentHelp(
            "A SyncServerII's Server.json; its provider ids and secrets are used unless options give others.",
            valueName: "file"), completion: .file(extensions: ["json"]))
    var older: String?

    @OptionGroup var services: ServiceOptions
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
            throw ValidationError("--certificate and --key must be given together.")
        }
        guard certbot || acmeMail == nil && acmeServer == nil else {
            throw ValidationError("--acme-mail and --acme-server require --certbot.")
        }
        guard !certbot || certificate == nil else {
            throw ValidationError("--certbot and --certificate are mutually exclusive.")
        }
        guard !trial || certificate == nil && !certbot else {
            throw ValidationError("--trial excludes --certificate and --certbot.")
        }
        guard trial || !trustOnThisHost else { throw ValidationError("--trust-on-this-host requires --trial.") }
        for text in set where Self.assignment(text) == nil {
            throw ValidationError("--set \(text): \(Self.objection(toAssignment: text))")
        }
        guard !sandbox || older == nil && set.isEmpty && services.isEmpty else {
            throw ValidationError("--sandbox has its own ids and secrets.")
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
        answers.passesSignals = changes
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

    /// Whether the options request a change to a host that is already set up, or the settings of a new one.
    var isChange: Bool {
        host != nil || publicURL != nil || !proxyProtocolFrom.isEmpty || !leavesCertificateOpen || sandbox
            || makesBackups || nginxConnections || changes || older != nil || !answers.settings.isEmpty
    }

    /// The names by which the operator knows the answers, by the keys of the settings.
    var givers: [String: String] {
        var givers = ServiceOptions.names
        for text in set { if let (setting, _) = Self.assignment(text) { givers[setting.key] = "--set \(setting.key)" } }
        return givers
    }

    /// The settings that have their own options, and those given with `--set`.
    private var namedSettings: [String: SetupAnswers.Answer] {
        var named = services.answers
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

    /// The settings that `--set` accepts.
    private static let settings = (Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings))
        .filter { $0.question != nil }
}
