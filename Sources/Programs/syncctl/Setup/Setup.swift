import ArgumentParser
import Configuration
import MariaDB
import Operations
import Posix

/// Turns a host with the packages installed into a server.
struct Setup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Sets a server up: database, keys, configuration, nginx; and tests each thing.",
        discussion: """
            Asks for what the options do not say, unless --unattended is given. Makes what is missing: the database \
            with an account for the server, its password and the key that seals people's tokens (below \
            /etc/syncd/secrets, where the secrets of providers and push services go too), /etc/syncd/syncd.json, and \
            nginx's site. Then brings the tables up to date, starts everything, and asks the server by HTTPS how it is. \
            Before anything is written, it is tested that the server would start with these answers, secrets and keys.

            It may be run again at any time: what is there already is kept as it is, and what is still missing is done. \
            So it is run twice for a certificate of Let's Encrypt: the first run prepares nginx for certbot, and the \
            second one puts the certificate to use.

            Exit status: 0 all is done, or only things remain that it names; 1 a step failed, or something is in the \
            way; 64 the command line is wrong; 77 it must be run by root.
            """)

    @OptionGroup(title: "The server") var options: SetupOptions
    @Flag(help: "Ask nothing: what the options do not say is an error.") var unattended = false
    @Flag(name: .customLong("dry-run"), help: "Only say what would be done.") var isDryRun = false
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
            throw CommandFailure(.noPermission, "setup must be run by root")
        }
        do {
            try setUp()
        } catch let failure as SetupFailure {
            Output.complain(text: "syncctl: \(failure.sentence)")
            throw ExitCode.failure
        }
    }

    private func setUp() throws {
        ClientLibrary.initialize()
        var answers = options.answers
        var questions = SetupQuestions()
        if !unattended {
            guard Terminal.isThere else { throw ValidationError("There is nobody to ask: use --unattended.") }
            let place = (root == "/" ? "" : root) + SetupPaths.configuration
            try questions.complete(&answers, asksForProviders: !AtomicFile.exists(place))
        }
        let host = SetupHost(
            root: root == "/" ? "" : root, administrator: try administrator(answers), typedSecrets: questions.typed)
        let state = try host.observe(&answers)
        var plan: SetupPlan
        do { plan = try SetupPlan(answers, on: state) } catch { throw SetupFailure("\(error)") }
        if plan.obstacles.isEmpty { plan.obstacles = host.objections(to: plan) }
        guard plan.obstacles.isEmpty else {
            throw SetupFailure(
                "nothing was done, as something is in the way\n"
                    + plan.obstacles.map { "  - \($0)" }.joined(separator: "\n"))
        }
        var report = SetupReport(asJSON: isJSON)
        for sentence in plan.kept { report.add(.kept, sentence) }
        let outcome = Result { try perform(plan, on: host, answers, &report) }
        if case .success = outcome { report.remaining += plan.remaining }
        try report.finish()
        try outcome.get()
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
                // nginx must be able to start again, with whatever else it serves.
                if action == .check(.nginx) { host.undoLinks(among: done) }
                throw SetupFailure("\(failure.sentence)\nPut it right, and run setup again: what is done is kept.")
            }
        }
        guard report.steps.contains(where: { $0.outcome == .skipped }) else { return }
        report.remaining.append(
            "This is no running system: what was skipped is for the host that these files are for. Run setup there.")
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
