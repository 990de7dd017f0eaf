import ArgumentParser
import Configuration
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Store
import SyncProtocol

/// The configuration file.
struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks the configuration file.", subcommands: [CheckConfig.self])
}

/// Reports all mistakes in a configuration file.
struct CheckConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Reports all mistakes in a configuration file.",
        discussion: """
            The services run as their own user and get only the secrets that systemd passes to them. As root, this \
            command also reports what only the services would notice: for the package's configuration, or with --user.
            """)

    @OptionGroup var options: CommonOptions
    @Option(help: ArgumentHelp("The account that the services run as.", valueName: "account")) var user: String?
    @Flag(
        help: """
            Also connect to the database as each role, and check that its schema matches this release and that the \
            stored tokens can be opened, as a reload does. Changes nothing.
            """)
    var connect = false

    func run() throws {
        let path = options.file.path
        let report = ConfigurationReport(of: path, seenBy: try ServiceView(of: path, as: user))
        if connect, report.isGood { try ConnectedCheck.run(options) }
        try Output.write(report, asJSON: options.isJSON)
        if report.isDenied { throw CommandFailure(.noPermission, CommandFailure.permissionMissing) }
        if !report.isGood { throw ExitCode(ExitStatus.configuration.rawValue) }
    }
}

/// Problems of a configuration file, warnings and notes.
struct ConfigurationReport: Report {
    struct Finding: Encodable {
        /// From 1; absent if the finding is about something missing.
        var line: Int?
        var column: Int?
        var sentence: String
    }

    var path: String
    /// Any of these prevents the server from starting.
    var problems: [Finding]
    /// The server starts despite these.
    var warnings: [Finding]
    var notes: [Finding]
    /// Where all calls to providers go; absent on a production server.
    var sandbox: String?
    /// Whether something could not be read for lack of permission.
    let isDenied: Bool

    private enum CodingKeys: CodingKey {
        case path, problems, warnings, notes, sandbox
    }

    /// - Parameter services: the view of the services; `nil` to skip it.
    init(of path: String, seenBy services: ServiceView?) {
        self.path = path
        let notes: [ConfigurationFinding]
        do {
            let configuration = try ServerConfiguration(readingFrom: path)
            problems = []
            isDenied = false
            notes = configuration.notes
            sandbox = configuration.sandbox.map { "\($0.host):\($0.port)" }
        } catch {
            problems = error.problems.map(Finding.init)
            isDenied = error.isDenied
            notes = error.notes
        }
        let known = problems.map(\.sentence)
        problems += services?.problems(besides: known).map { Finding(sentence: $0) } ?? []
        warnings = notes.filter { $0.kind == .warning }.map(Finding.init)
        self.notes = notes.filter { $0.kind == .note }.map(Finding.init)
    }

    var isGood: Bool { problems.isEmpty }

    var lines: [String] {
        var lines: [String] = []
        if !isGood { lines += ["\(path) has \(Self.count(problems, "problem")):"] + problems.map(\.text) }
        if !warnings.isEmpty {
            lines += ["\(Self.count(warnings, "warning")); the server starts anyway:"] + warnings.map(\.text)
        }
        if !notes.isEmpty { lines += ["Notes:"] + notes.map(\.text) }
        if let sandbox {
            lines += [
                "WARNING: sandbox is set: every call to a provider goes to \(sandbox).",
                "         Nothing reaches a real cloud. Never run a server for real people like this.",
            ]
        }
        if isGood { lines.append("\(path) is valid.") }
        return lines
    }

    private static func count(_ findings: [Finding], _ what: String) -> String {
        "\(findings.count) \(what)\(findings.count == 1 ? "" : "s")"
    }
}

extension ConfigurationReport.Finding {
    init(_ finding: ConfigurationFinding) {
        line = finding.place?.line
        column = finding.place?.column
        sentence = finding.sentence
    }

    /// As ``ConfigurationFinding`` writes it, as a list item.
    fileprivate var text: String {
        guard let line, let column else { return "  - \(sentence)" }
        return "  - \(TextPlace(line: line, column: column)): \(sentence)"
    }
}

/// What the services can read of a configuration and of the files that it names, which is less than what root can read:
/// they run as their own user, see no home directories, and get files with relative names only from systemd, which
/// passes on the folder `secrets` next to the configuration.
struct ServiceView {
    /// The user that the app's units run as.
    static var usualUser: String { HostedApp.current.prefix }
    /// Places that the package's units hide from the services (ProtectHome=, PrivateTmp=).
    private static let hiddenFolders = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"]

    let path: String
    let user: UserAccount

    /// The services' view of a configuration.
    ///
    /// - Parameter userName: the user that they run as; `nil`: the package's user, for the package's configuration.
    /// - Returns: `nil` if this host has no such services.
    /// - Throws: ``CommandFailure`` if no user has that name, or this process cannot become that user.
    init?(of path: String, as userName: String?) throws {
        self.path = path
        guard userName != nil || path == SetupPaths.configuration else { return nil }
        guard let user = UserAccount(userName ?? Self.usualUser) else {
            if let userName { throw CommandFailure(.foundSomething, "there is no user \(userName)") }
            return nil
        }
        guard user.canBeTried else {
            if userName != nil { throw CommandFailure(.noPermission, "only root can check what \(user.name) can read") }
            return nil
        }
        self.user = user
    }

    /// Sentences about problems that prevent services from starting and that root would not notice.
    /// - Parameter known: problems that root also sees.
    func problems(besides known: [String]) -> [String] {
        do { try user.tryReading(path) } catch {
            return ["the services, which run as \(user.name), cannot read \(path): \(error)"]
        }
        var problems: [String] = []
        var files: Set<String> = []
        for role in ServerRole.allCases {
            do {
                let configuration = try ServerConfiguration(rehearsing: role, with: path)
                files.formUnion(
                    configuration.secretFiles.filter { $0.readers.contains(role) && $0.name.hasPrefix("/") }.map(\.name)
                )
                if let sandbox = configuration.sandbox { files.insert(sandbox.caFile) }
            } catch {
                problems += error.problems.map(\.sentence).filter { !known.contains($0) }.map {
                    "\($0); services get only the files in \(secretsFolder)"
                }
            }
        }
        return Self.unique(problems) + files.sorted().compactMap(problem(with:))
    }

    private var secretsFolder: String {
        (path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".") + "/secrets"
    }

    private func problem(with file: String) -> String? {
        if user.name == Self.usualUser, let hidden = Self.hiddenFolders.first(where: file.hasPrefix) {
            return "the services do not see \(file): the units hide \(hidden)"
        }
        do { try user.tryReading(file) } catch {
            return "the services, which run as \(user.name), cannot read \(file): \(error)"
        }
        return nil
    }

    private static func unique(_ sentences: [String]) -> [String] {
        var seen: Set<String> = []
        return sentences.filter { seen.insert($0).inserted }
    }
}

/// Checks a configuration against the database: whether its accounts work, whether the schema matches this release, and
/// whether the sealing keys open the stored tokens.
enum ConnectedCheck {
    /// - Throws: the reason why the server cannot run with it, as a ``CommandFailure`` or an error that becomes one.
    static func run(_ options: CommonOptions) throws {
        let installation = try Installation(options)
        for role in ServerRole.allCases {
            guard let settings = installation.configuration.roleAccounts[role] else { continue }
            do { _ = try Connection(settings) } catch {
                guard let failure = CommandFailure(error) else { throw error }
                throw CommandFailure(failure.status, "the role \(role.rawValue), \(settings): \(failure.message)")
            }
        }
        try RoleAccounts.requireRights(installation.configuration)
        let keys = try installation.keys()
        let missing = try installation.store.snapshot { try $0.sealingKeys(missingIn: keys) }
        guard missing.isEmpty else {
            throw CommandFailure(
                .configuration,
                missing.map {
                    "the tokens of \($0.users) \($0.users == 1 ? "user" : "users") are sealed with the key \($0.key), "
                        + "which is neither in sealing.keyFile nor in sealing.formerKeyFiles: their files would be "
                        + "inaccessible"
                }.joined(separator: "\n"))
        }
    }
}
