import FoundationEssentials
public import HTTPTransport
import Posix
public import Providers
public import SyncProtocol

/// Tests all operations that the server needs from a provider, with a test account and the server's own adapters.
public struct ProviderTrial {
    /// The provider to test, and the means.
    public struct Subject {
        /// The provider's usual name.
        public var company: String
        public var account: any AccountProvider
        public var storage: (any CloudProvider)?
        public var guide: TrialGuide
        public var credentials: TrialCredentials
        public var transport: Transport
        /// The time limit for one operation, in addition to the transfer time of an upload or a download.
        public var patience: Duration = .seconds(40)
        /// Whether the person's grant is kept.
        public var keepsGrant = false
        /// Blocks the calling thread; tests pass one that does not.
        public var pause: @Sendable (Duration) -> Void = { Pause.sleep($0) }
        /// Texts of the configuration that must not appear in the report.
        public var confidential: [String] = []

        public init(
            company: String, account: any AccountProvider, storage: (any CloudProvider)?, guide: TrialGuide,
            credentials: TrialCredentials, transport: Transport
        ) {
            self.company = company
            self.account = account
            self.storage = storage
            self.guide = guide
            self.credentials = credentials
            self.transport = transport
        }
    }

    private let subject: Subject
    private let version: String
    private let isSandbox: Bool
    private let interruption: Interruption
    private let progress: (String) -> Void

    /// - Parameter progress: called with the name of each step before it begins.
    public init(
        _ subject: Subject, version: String, isSandbox: Bool, interruption: Interruption = Interruption(),
        progress: @escaping (String) -> Void = { _ in }
    ) {
        self.subject = subject
        self.version = version
        self.isSandbox = isSandbox
        self.interruption = interruption
        self.progress = progress
    }

    /// Runs all steps. Stored objects are deleted again in any case.
    /// - Throws: ``CryptoError`` if there is no randomness.
    public func run() throws -> TrialReport {
        let recorder = CallRecorder(interruption)
        let account = try TrialAccount(subject, recorder: recorder)
        var report = TrialReport(
            provider: subject.company, version: version,
            startedAt: WireDate(secondsSince1970: WallClock.secondsSince1970()),
            isSandbox: isSandbox, outcome: .passed, steps: [])
        var (hasCalled, hasReplied) = (false, false)
        for step in TrialStep.all(for: account) {
            progress(step.name)
            if step.name == TrialStep.cleanUp { interruption.beginCleaningUp() }
            let (result, calls) = perform(step, after: report.steps, account)
            hasCalled = hasCalled || !calls.isEmpty
            hasReplied = hasReplied || calls.contains { $0.status != nil }
            report.steps.append(result)
        }
        if interruption.isRequested {
            report.outcome = .interrupted
        } else if report.steps.contains(where: { $0.result == .failed }) {
            // Malformed credentials are not sent, so no call is made.
            report.outcome = hasReplied || !hasCalled ? .failed : .unreachable
        }
        return Redaction(account.allConfidential + subject.confidential).applied(to: report)
    }

    private func perform(
        _ step: TrialStep, after earlier: [TrialReport.Step], _ account: TrialAccount
    ) -> (TrialReport.Step, [TrialCall]) {
        let start = ContinuousClock.now
        let verdict: TrialVerdict
        if interruption.isRequested, step.name != TrialStep.cleanUp {
            verdict = .notTried("interrupted")
        } else if let missing = step.needs.first(where: { need in
            earlier.contains { $0.step == need && $0.result != .passed && $0.result != .notOffered }
        }) {
            verdict = .notTried("requires the step \(missing)")
        } else {
            do {
                verdict = try step.action(account)
            } catch  where interruption.isEffective {
                verdict = .notTried("interrupted")
            } catch {
                verdict = .failed(Self.words(for: error))
            }
        }
        let calls = account.recorder.take()
        return (Self.result(of: step, verdict, calls, took: start.duration(to: .now)), calls)
    }

    private static func result(
        of step: TrialStep, _ verdict: TrialVerdict, _ calls: [TrialCall], took time: Duration
    ) -> TrialReport.Step {
        let (seconds, attoseconds) = time.components
        var result = TrialReport.Step(
            step: step.name, expected: step.expected, result: .passed, came: "",
            milliseconds: seconds * 1_000 + attoseconds / 1_000_000_000_000_000, calls: [])
        switch verdict {
        case .passed(let words): result.came = words
        case .failed(let words):
            result.result = .failed
            let page = calls.last { !$0.isSmooth || $0.isPage }.map { $0.isPage } ?? false
            result.came = page ? words + " (the reply was a web page instead of data)" : words
            result.calls = Array(calls.suffix(TrialStep.shownCalls))
        case .notOffered(let words): (result.result, result.came) = (.notOffered, words)
        case .notTried(let words): (result.result, result.came) = (.notTried, words)
        }
        return result
    }

    private static func words(for error: any Error) -> String {
        switch error {
        case let error as CloudStorageError: Redaction.codes(in: String(reflecting: error))
        case let error as AccountError: Redaction.codes(in: error.description)
        case let error as WrongContent: error.words
        case let error as TrialAccount.NotThere: error.text
        default: "an error in this program"
        }
    }
}

/// The result of a provider's trial, in a form that can be published.
public struct TrialReport: Report, Equatable {
    public enum Outcome: String, Encodable, Sendable {
        /// The result matches the server's expectation.
        case passed
        case failed
        /// The provider never replied.
        case unreachable
        /// The operator ended it.
        case interrupted
    }

    public struct Step: Encodable, Equatable, Sendable {
        public enum Result: String, Encodable, Sendable { case passed, failed, notOffered, notTried }

        public var step: String
        public var expected: String
        public var result: Result
        public var came: String
        public var milliseconds: Int64
        /// The calls to the provider with their results, if they matter.
        public var calls: [TrialCall]
    }

    public var provider: String
    /// The server's version.
    public var version: String
    public var startedAt: WireDate
    /// Whether all calls went to the sandbox.
    public var isSandbox: Bool
    public var outcome: Outcome
    public var steps: [Step]

    public var isGood: Bool { outcome == .passed }

    public var lines: [String] {
        var lines = [
            "Trial of \(provider) with SyncServer \(version)\(isSandbox ? ", at the sandbox" : ""): \(summary)", "",
        ]
        for step in steps {
            lines.append("\(Self.label(step.result))  \(step.step): \(step.expected)")
            lines.append("            \(step.came)")
            lines += step.calls.map { "              \($0.method) \($0.host) \($0.path): \($0.outcome)" }
        }
        return lines
    }

    private var summary: String {
        let counts = [
            (Step.Result.passed, "as expected"), (.failed, "not as expected"), (.notOffered, "not offered"),
            (.notTried, "not tried"),
        ].map { result, words in (steps.count { $0.result == result }, words) }
        let text = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return switch outcome {
        case .passed, .failed: text
        case .unreachable: "it cannot be reached; " + text
        case .interrupted: "interrupted; " + text
        }
    }

    private static func label(_ result: Step.Result) -> String {
        switch result {
        case .passed: "ok        "
        case .failed: "FAILED    "
        case .notOffered: "no such   "
        case .notTried: "not tried "
        }
    }
}

/// Removes confidential texts from a report, from any source. The report consists of our own words and providers'
/// codes; this protects against providers that repeat request values in their codes.
struct Redaction {
    /// Shorter texts are too likely to be parts of ordinary words.
    private static let shortest = 4

    /// The length of the longest word of our own, or of a provider's code.
    private static let longestWord = 40

    /// The number of consecutive characters of a confidential text that counts as a disclosure.
    private static let longestPart = 12

    private let texts: [String]
    /// All parts of that length of the texts.
    private let parts: Set<[UInt8]>

    init(_ texts: some Sequence<String>) {
        let texts = Set(texts).filter { $0.utf8.count >= Self.shortest }.sorted { $0.utf8.count > $1.utf8.count }
        self.texts = texts
        var parts: Set<[UInt8]> = []
        for bytes in texts.map({ Array($0.utf8) }) where bytes.count >= Self.longestPart {
            for start in 0...(bytes.count - Self.longestPart) {
                parts.insert(Array(bytes[start..<(start + Self.longestPart)]))
            }
        }
        self.parts = parts
    }

    /// The text of an error without words that cannot be codes: addresses, identifiers, and words with unusual
    /// characters.
    static func codes(in text: String) -> String {
        text.split(separator: " ").map { word in
            let isPlain =
                word.utf8.count <= longestWord
                && word.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "@") }
            return isPlain ? String(word) : "[…]"
        }.joined(separator: " ")
    }

    func applied(to text: String) -> String {
        texts.reduce(text) { text, secret in text.replacing(secret, with: "[…]") }
            .split(separator: " ", omittingEmptySubsequences: false)
            .map { repeatsPart(of: $0) ? "[…]" : String($0) }.joined(separator: " ")
    }

    /// Whether a word contains a part of one of the texts that is too long to be a coincidence.
    private func repeatsPart(of word: Substring) -> Bool {
        let word = Array(word.utf8)
        guard word.count >= Self.longestPart else { return false }
        return (0...(word.count - Self.longestPart)).contains {
            parts.contains(Array(word[$0..<($0 + Self.longestPart)]))
        }
    }

    func applied(to report: TrialReport) -> TrialReport {
        var report = report
        for index in report.steps.indices {
            report.steps[index].came = applied(to: report.steps[index].came)
            for call in report.steps[index].calls.indices {
                report.steps[index].calls[call].code = report.steps[index].calls[call].code.map(applied)
            }
        }
        return report
    }
}
