import Dispatch
import Posix
import Synchronization

/// One check of a host, which may have to wait.
public struct HostCheck: Sendable {
    /// The subject, for the message that the check took too long.
    let subject: String
    fileprivate let examine: @Sendable () -> [Diagnosis]

    public init(_ subject: String, _ examine: @escaping @Sendable () -> [Diagnosis]) {
        self.subject = subject
        self.examine = examine
    }

    /// Runs checks in parallel, each on its own thread; returns their diagnoses in the order of the checks. A check
    /// should limit its waits itself. One that does not end, for example because a name server or a disk hangs, is
    /// reported and abandoned: the process ends soon.
    /// - Parameter limit: the time limit for all of them together.
    public static func run(_ checks: [HostCheck], within limit: Duration) -> [Diagnosis] {
        begin(checks).diagnoses(within: limit)
    }

    /// Starts checks; the caller collects their diagnoses later.
    public static func begin(_ checks: [HostCheck]) -> Pending {
        Pending(checks: checks.map { ($0, start($0)) })
    }

    /// Running checks.
    public struct Pending: Sendable {
        fileprivate let checks: [(HostCheck, @Sendable (DispatchTime) -> [Diagnosis]?)]

        /// Waits at most `limit`; returns the diagnoses of the checks that end in time, and reports the others.
        public func diagnoses(within limit: Duration) -> [Diagnosis] {
            let end = HostCheck.deadline(limit)
            return checks.flatMap { check, result -> [Diagnosis] in
                if let diagnoses = result(end) { return diagnoses }
                return [
                    Diagnosis(
                        .checkTimedOut, "\(check.subject): no result in time",
                        fix: "check it by hand, or allow more time: --patience SECONDS")
                ]
            }
        }
    }

    /// Runs a check on its own thread.
    /// - Returns: a function that waits for its diagnoses; it returns `nil` at the deadline.
    static func start(_ check: HostCheck) -> @Sendable (_ deadline: DispatchTime) -> [Diagnosis]? {
        let result = Result(check)
        return { result.diagnoses(by: $0) }
    }

    static func deadline(_ limit: Duration) -> DispatchTime {
        .now() + .milliseconds(Int(max(.zero, limit) / .milliseconds(1)))
    }

    /// The future result of a thread.
    private final class Result: Sendable {
        private let found = Mutex<[Diagnosis]>([])
        private let hasEnded = DispatchSemaphore(value: 0)

        init(_ check: HostCheck) {
            let examine = check.examine
            do throws(PosixError) {
                try WorkerThread(name: "check") { [self] in
                    let diagnoses = examine()
                    found.withLock { $0 = diagnoses }
                    hasEnded.signal()
                }.detach()
            } catch {
                // No thread is available: run the check here.
                let diagnoses = examine()
                found.withLock { $0 = diagnoses }
                hasEnded.signal()
            }
        }

        func diagnoses(by end: DispatchTime) -> [Diagnosis]? {
            guard hasEnded.wait(timeout: end) == .success else { return nil }
            return found.withLock { $0 }
        }
    }
}
