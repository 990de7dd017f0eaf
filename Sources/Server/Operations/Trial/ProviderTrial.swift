import FoundationEssentials
public import HTTPTransport
import Posix
public import Providers
import SyncProtocol

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
