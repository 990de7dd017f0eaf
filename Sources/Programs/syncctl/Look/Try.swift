import ArgumentParser
import Configuration
import Curl
import FoundationEssentials
import HTTPTransport
import Operations
import Posix
import Providers
import SyncProtocol

/// Tries a provider with a test account.
struct Try: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Tests all operations that the server needs from a provider, with a test account.",
        discussion: """
            Reports the expected and the actual result of each step. The report contains no tokens, codes, secrets, \
            names or contents, so that it can be attached to a bug report. Stored objects are deleted again; at the \
            end, the test account's grant is revoked (--keep-grant keeps it). The handbook describes what each \
            provider needs.

            Without --credentials, the command asks for the account's code, password or key, and does not show it. It \
            never accepts them on the command line.
            """)

    /// The words for providers on the command line.
    private static let companies = Company.all.filter { $0.signIn != nil }
    private static let words = companies.map { $0.name.lowercased() }

    @OptionGroup var options: CommonOptions
    @Argument(
        help: "\(words.joined(separator: ", ")).", completion: .list(words), transform: Self.company) var provider:
        Company
    @Option(
        help: ArgumentHelp(
            "A file with the test account's credentials, a JSON object; - for standard input.", valueName: "file"),
        completion: .file())
    var credentials: String?
    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            "The redirect URI of the code, as registered with the provider; by default one from the configuration.",
            valueName: "uri"))
    var redirectURI: String?
    @Option(help: ArgumentHelp("A file to write the report to, in addition.", valueName: "file"), completion: .file())
    var report: String?
    @Option(help: ArgumentHelp("The time limit for one operation.", valueName: "seconds")) var patience = 40
    @Flag(name: .customLong("keep-grant"), help: "Does not revoke the test account's grant.")
    var keepsGrant = false

    private static func company(_ word: String) throws -> Company {
        guard let company = companies.first(where: { $0.name.lowercased() == word.lowercased() }) else {
            let hint = Spelling.suggestion(for: word, among: words).map { " Did you mean '\($0)'?" } ?? ""
            throw ValidationError("'\(word)' is not a provider: \(words.joined(separator: ", ")).\(hint)")
        }
        return company
    }

    func validate() throws {
        guard (1...600).contains(patience) else { throw ValidationError("--patience must be from 1 to 600.") }
        if options.isJSON, credentials == nil {
            throw ValidationError(
                "--json asks no questions: it requires --credentials.")
        }
    }

    func run() throws {
        let configuration = try ServerConfiguration(readingFrom: options.file.path)
        guard let offer = provider.signIn, let values = configuration.accounts[offer.accountType],
            let account = offer.makeAccount(values, { Date() })
        else {
            throw CommandFailure(
                .configuration,
                "\(provider.name) is not configured: syncctl setup adds it, or \(provider.signIn?.enablingKey ?? "") and its "
                    + "settings in \(options.file.path)")
        }
        let given = try TrialQuestions(
            provider, offer, values, redirectURI: redirectURI, known: configuration.redirectURIs
        ).credentials(from: credentials)
        CurlLibrary.initialize()
        var subject = ProviderTrial.Subject(
            company: provider.name, account: account, storage: offer.storage?.make(values), guide: offer.trial,
            credentials: given, transport: CurlSenderPool(routing: Routing(configuration.sandbox)).transport)
        subject.patience = .seconds(patience)
        subject.keepsGrant = keepsGrant
        subject.confidential = offer.settings.filter(\.isSecret).compactMap { values.secret($0)?.value }
        let result = try Self.watchingSignals { interruption in
            try ProviderTrial(
                subject, version: ServerRelease.text, isSandbox: configuration.sandbox != nil,
                interruption: interruption,
                progress: { step in if !options.isJSON { Output.complain(["… \(step)"]) } }
            ).run()
        }
        try hand(result)
    }

    /// Runs `body`, and interrupts it when this process receives a termination signal.
    private static func watchingSignals(_ body: (Interruption) throws -> TrialReport) throws -> TrialReport {
        let interruption = Interruption()
        let end = Interruption()
        Signals.block()
        let watcher = JoinableThread(
            try WorkerThread(name: "signals") {
                while !end.isRequested {
                    if Signals.wait(upTo: .milliseconds(100)) == .stop { interruption.request() }
                }
            })
        defer {
            end.request()
            watcher.join()
        }
        return try body(interruption)
    }

    private func hand(_ result: TrialReport) throws {
        try Output.write(result, asJSON: options.isJSON)
        if let report {
            let text = options.isJSON ? try result.json() : result.text
            try AtomicFile.write(Array((text + "\n").utf8), to: report, permissions: 0o644)
        }
        switch result.outcome {
        case .passed: return
        case .failed, .interrupted: throw ExitCode(ExitStatus.foundSomething.rawValue)
        case .unreachable: throw ExitCode(ExitStatus.unavailable.rawValue)
        }
    }
}

/// Reads the credentials of a test account from a file, or asks for them.
struct TrialQuestions {
    private let company: Company
    private let offer: SignInOffer
    private let values: SettingValues
    private let redirectURI: String?
    private let known: Set<String>

    /// - Parameters:
    ///   - redirectURI: the one from the command line.
    ///   - known: the redirect URIs of the configuration.
    init(
        _ company: Company, _ offer: SignInOffer, _ values: SettingValues, redirectURI: String?, known: Set<String>
    ) {
        self.company = company
        self.offer = offer
        self.values = values
        self.redirectURI = redirectURI
        self.known = known
    }

    /// - Parameter file: the path of a file, `-` for standard input; `nil` to ask.
    func credentials(from file: String?) throws -> TrialCredentials {
        var credentials: TrialCredentials
        if let file {
            let bytes = try TextFile.read(file == "-" ? "/dev/stdin" : file)
            do { credentials = try TrialCredentials(json: bytes) } catch {
                throw ValidationError("\(file == "-" ? "standard input" : file) \(error.text).")
            }
        } else {
            credentials = try ask()
        }
        credentials.redirectURI = redirectURI ?? credentials.redirectURI
        return credentials
    }

    private func ask() throws -> TrialCredentials {
        var credentials = TrialCredentials()
        if let consent = offer.trial.consent {
            let redirect = redirectURI ?? (consent.showsCode ? nil : known.sorted().first)
            guard redirect != nil || consent.showsCode else {
                throw ValidationError(
                    "\(company.name) requires a redirect URI: register one, such as http://localhost/server, and name "
                        + "it with --redirect-uri.")
            }
            credentials.redirectURI = redirect
            Output.write([
                "Open this page as the test account, and agree:", "", consent.url(values, redirectURI: redirect), "",
                redirect == nil
                    ? "The page then shows a code."
                    : "The browser opens an address that contains code=…, even if nothing answers there.",
            ])
        }
        for question in offer.trial.questions {
            guard let answer = Terminal.ask(question.text, isHidden: question.isSecret) else {
                throw ValidationError("The input ended before all questions were answered.")
            }
            let text = question.answer == .authorizationCode ? Self.code(in: answer) : Self.trimmed(answer)
            guard !text.isEmpty || question.isOptional else { throw ValidationError("An answer is missing.") }
            credentials.set(question.answer, to: text)
        }
        return credentials
    }

    /// The code in the pasted text, which is the code itself or the whole address that the browser opened.
    static func code(in answer: String) -> String {
        let answer = trimmed(answer)
        guard let query = answer.split(separator: "?", maxSplits: 1).dropFirst().first else { return answer }
        let fields = query.prefix { $0 != "#" }.split(separator: "&")
        guard let field = fields.first(where: { $0.hasPrefix("code=") }) else { return answer }
        return PercentEncoding.decode(field.dropFirst(5)) ?? answer
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
