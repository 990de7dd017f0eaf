import ArgumentParser
import Configuration
import FoundationEssentials
import MariaDB
import Operations
import Posix
import Providers
import Store

/// Turns a host with the packages installed into a server.
struct Setup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Sets up and tests a server: database, keys, configuration and nginx.",
        discussion: """
            Asks for settings that the options leave open, unless --unattended is given. Creates what is missing: the \
            database with an account for the server, its password and the key that seals people's tokens (below \
            /etc/syncd/secrets, which also holds the secrets of providers and push services), /etc/syncd/syncd.json, \
            and nginx's site. Then updates the tables, starts all services, and requests the server's HealthCheck by \
            HTTPS. Before writing anything, setup checks that the server would start with these answers, secrets and \
            keys.

            It can be run again at any time: it keeps what exists, does what is still missing, and changes what \
            options or answers request: another host name, another certificate, an additional provider, a new secret. \
            It keeps the previous version of each file that it replaces. Earlier answers are the defaults.

            Exit status: 0 all is done, except the remaining steps that it lists; 1 a step failed, or something is in \
            the way; 64 an option is wrong, nothing was done; 77 it requires root; 78 the server would not start with \
            this configuration, nothing was done.
            """)

    @OptionGroup(title: "The server") var options: SetupOptions
    @Flag(help: "Ask no questions: a missing option is an error.") var unattended = false
    @Flag(name: .customLong("dry-run"), help: "Only list what would be done.") var isDryRun = false
    @Flag(name: .customLong("json"), help: "At the end, print a JSON object for programs: steps, remaining.")
    var isJSON = false
    @Option(
        help: ArgumentHelp(
            "Put all files below this folder instead of /, and neither reload nginx nor start anything; for images "
                + "and tests.", valueName: "folder"), completion: .directory)
    var root = ""

    func validate() throws {
        guard !isJSON || unattended else { throw ValidationError("--json asks no questions: use --unattended.") }
        guard root.isEmpty || root.hasPrefix("/") else { throw ValidationError("--root must be an absolute path.") }
    }

    func run() throws {
        guard Terminal.isRoot || !root.isEmpty || isDryRun else {
            throw CommandFailure(.noPermission, "setup requires root")
        }
        do {
            try setUp()
        } catch let failure as SetupFailure {
            if isJSON {
                Output.complain(FailureReport(failure.status, failure.sentence))
            } else {
                Output.complain(text: "syncctl: \(failure.sentence)")
            }
            throw ExitCode(failure.status)
        }
    }

    private func setUp() throws {
        ClientLibrary.initialize()
        var host = SetupHost(root: root == "/" ? "" : root, administrator: nil)
        let last = try host.lastTime()
        var answers = options.answers
        var check = SetupCheck(root: host.root, secrets: host.secrets)
        let givers = try adoptOlderSettings(&answers, &check.secrets)
        if unattended { last.complete(&answers, certificateIsOpen: options.leavesCertificateOpen) }
        try refuse(check.objections(to: answers, givenBy: givers))
        if unattended {
            if answers.host.isEmpty { throw SetupFailure("--host: the name of this server is missing", status: 64) }
        } else {
            guard Terminal.isThere else {
                throw ValidationError(
                    "Without a terminal, setup cannot ask questions: use --unattended.")
            }
            var questions = SetupQuestions(
                check, last: last, otherApps: host.otherApps, isRunningHost: host.isRunning,
                nginxConnections: host.nginxConnections, hasNchan: host.hasNchan)
            try questions.complete(
                &answers, certificateIsOpen: options.leavesCertificateOpen, isChange: options.isChange)
            check = questions.check
        }
        host.secrets = check.secrets
        host.administrator = try administrator(answers)
        var report = SetupReport(asJSON: isJSON)
        let outcome = Result {
            try addApp(&report)
            let plan = try plan(for: &answers, on: host)
            for sentence in plan.kept { report.add(.kept, sentence) }
            report.remaining = plan.remaining
            try perform(plan, on: host, answers, &report)
            guard plan.actions.contains(where: \.needsNewPlan), report.isDone else { return }
            // nginx now uses the new certificate.
            host.keepsPrevious = false
            let rest = try self.plan(for: &answers, on: host)
            try perform(rest, on: host, answers, &report)
        }
        if case .failure = outcome { report.remaining = [] }
        if !report.steps.isEmpty { try report.finish() }
        try outcome.get()
    }

    /// Creates an added app's units, users and folders first.
    private func addApp(_ report: inout SetupReport) throws {
        let app = HostedApp.current
        guard app.name != nil, root.isEmpty, !isDryRun else { return }
        let isNew = !AppFiles(of: app).isInstalled
        do { try AppInstallation(app: app).install() } catch {
            throw SetupFailure(CommandFailure(error)?.message ?? "\(error)")
        }
        report.add(isNew ? .done : .kept, "the app \(app.label) has units, users and folders")
    }

    private func plan(for answers: inout SetupAnswers, on host: SetupHost) throws -> SetupPlan {
        let state = try host.observe(&answers)
        let plan: SetupPlan
        do { plan = try SetupPlan(answers, on: state) } catch { throw SetupFailure("\(error)") }
        let title = "nothing was done, because something is in the way"
        guard plan.obstacles.isEmpty else { throw SetupFailure(Self.list(plan.obstacles, title: title)) }
        let objections = host.objections(to: plan)
        guard objections.isEmpty else {
            throw SetupFailure(Self.list(objections, title: title), status: ExitStatus.configuration.rawValue)
        }
        return plan
    }

    /// Adopts a predecessor's settings of services that no option covers.
    /// - Returns: the names by which the operator knows the answers.
    private func adoptOlderSettings(
        _ answers: inout SetupAnswers, _ secrets: inout SetupSecrets
    ) throws -> [String: String] {
        var givers = options.givers
        guard let path = options.older else { return givers }
        let older: OlderServerSettings
        do { older = try OlderServerSettings(readingFrom: path) } catch {
            throw SetupFailure("--older: nothing was done\n\(error)", status: 64)
        }
        for (settings, values) in older.values where !answers.has(settings) {
            for setting in settings {
                guard var answer = SetupAnswers.Answer(setting, of: values) else { continue }
                if setting.isSecret {
                    guard let name = setting.question?.fileName, let secret = values.secret(setting) else { continue }
                    secrets.typed[name] = secret
                    answer = .secret(.typed(name))
                }
                answers.settings[setting.key] = answer
                givers[setting.key] = "\(path), \(setting.key)"
            }
        }
        return givers
    }

    /// - Throws: ``SetupFailure`` with all objections, if there are any.
    private func refuse(_ objections: [String]) throws {
        guard !objections.isEmpty else { return }
        throw SetupFailure(Self.list(objections, title: "nothing was done, because these are wrong"), status: 64)
    }

    private static func list(_ sentences: [String], title: String) -> String {
        title + "\n" + sentences.map { "  - \($0)" }.joined(separator: "\n")
    }

    private func perform(
        _ plan: SetupPlan, on host: SetupHost, _ answers: SetupAnswers, _ report: inout SetupReport
    ) throws {
        var done: [SetupPlan.Action] = []
        for action in plan.actions {
            let sentence = action.sentence(answers)
            guard !isDryRun else {
                report.add(.would, sentence)
                continue
            }
            do {
                report.add(.done, sentence, remark: try host.perform(action, answers))
                done.append(action)
            } catch is NoRunningSystem {
                report.add(.skipped, sentence)
            } catch let failure as SetupFailure {
                report.add(.failed, sentence)
                // nginx must be able to restart with its other sites.
                if action == .check(.nginx) { host.undoLinks(among: done) }
                throw SetupFailure("\(failure.sentence)\nCorrect it, and run setup again: completed steps are kept.")
            }
        }
        guard report.steps.contains(where: { $0.outcome == .skipped }) else { return }
        report.remaining.append(
            "systemd is not running here: run setup on the host that these files are for, to do the skipped steps.")
    }

    private func administrator(_ answers: SetupAnswers) throws -> ConnectionSettings? {
        guard !options.existingDatabase else { return nil }
        var password = ""
        if let file = options.databaseAdminPasswordFile {
            do { password = String(decoding: try TextFile.read(file), as: UTF8.self) } catch {
                throw SetupFailure("--database-admin-password-file names \(file), which cannot be read: \(error)")
            }
            while password.last?.isNewline == true { password.removeLast() }
        }
        let address: ConnectionSettings.Address =
            switch answers.database {
            case .socket(let path): .unixSocket(path: path)
            case .tcp(let host, let port): .tcp(host: host, port: UInt16(clamping: port))
            }
        return ConnectionSettings(
            address: address, user: options.databaseAdminUser, password: password, database: nil)
    }
}

/// What setup did, and what remains; printed step by step for people, or at the end for programs.
struct SetupReport: Encodable {
    enum Outcome: String, Encodable {
        /// Already existed, and is unchanged.
        case kept
        case done
        /// Not done, because systemd is not running here.
        case skipped
        /// Only planned, in a dry run.
        case would
        case failed
    }

    struct Step: Encodable {
        var outcome: Outcome
        var step: String
        /// A note for the operator.
        var remark: String?
    }

    private(set) var steps: [Step] = []
    var remaining: [String] = []
    private let isJSON: Bool

    private enum CodingKeys: CodingKey {
        case steps
        case remaining
    }

    /// Whether every step is done.
    var isDone: Bool { steps.allSatisfy { $0.outcome == .kept || $0.outcome == .done } }

    init(asJSON isJSON: Bool) { self.isJSON = isJSON }

    mutating func add(_ outcome: Outcome, _ step: String, remark: String? = nil) {
        steps.append(Step(outcome: outcome, step: step, remark: remark))
        guard !isJSON else { return }
        let word = outcome == .failed ? "FAILED" : outcome.rawValue
        Output.write(Self.lines(word + String(repeating: " ", count: 9 - word.utf8.count) + step, indentedBy: 11))
        if let remark { Output.write(Self.lines("           " + remark, indentedBy: 11)) }
    }

    /// Reports the outcome at the end.
    func finish() throws {
        guard !isJSON else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return Output.write(json: String(decoding: try encoder.encode(self), as: UTF8.self))
        }
        guard !remaining.isEmpty else { return }
        Output.write(["", "What remains for you:"])
        for sentence in remaining { Output.write(Self.lines("  - " + AppText().named(sentence), indentedBy: 4)) }
    }

    /// The lines of a text, all but the first indented.
    private static func lines(_ text: String, indentedBy count: Int) -> [String] {
        let lines = text.split(separator: "\n")
        return lines.prefix(1).map(String.init)
            + lines.dropFirst().map { String(repeating: " ", count: count) + $0 }
    }
}

/// The reason why setup or one of its steps failed, as a sentence without secrets.
struct SetupFailure: Error {
    var sentence: String
    /// The exit status: one of ``ExitStatus``, or 64 for a wrong answer on the command line (sysexits.h).
    var status: Int32

    init(_ sentence: String, status: Int32 = ExitStatus.foundSomething.rawValue) {
        self.sentence = sentence
        self.status = status
    }
}

/// A step needs a running system, but setup works on a folder, or systemd is not running.
struct NoRunningSystem: Error {}
