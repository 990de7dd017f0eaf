import Dispatch
import Posix
import Synchronization

/// One check of a host, which may have to wait for something.
public struct HostCheck: Sendable {
    /// What it is about, for whoever reads that it took too long.
    let subject: String
    fileprivate let examine: @Sendable () -> [Diagnosis]

    public init(_ subject: String, _ examine: @escaping @Sendable () -> [Diagnosis]) {
        self.subject = subject
        self.examine = examine
    }

    /// Runs checks side by side, each on a thread of its own; their diagnoses in the order of the checks.
    ///
    /// What a check waits for should end it in time. One that does not end, as when a name server or a disk hangs, is
    /// reported and left behind: the process ends soon.
    /// - Parameter limit: how long all of them may take.
    public static func run(_ checks: [HostCheck], within limit: Duration) -> [Diagnosis] {
        begin(checks).diagnoses(within: limit)
    }

    /// Starts checks, whose diagnoses are asked for later.
    public static func begin(_ checks: [HostCheck]) -> Pending {
        Pending(checks: checks.map { ($0, start($0)) })
    }

    /// Checks that run.
    public struct Pending: Sendable {
        fileprivate let checks: [(HostCheck, @Sendable (DispatchTime) -> [Diagnosis]?)]

        /// The diagnoses of those that end within this time from now on.
        public func diagnoses(within limit: Duration) -> [Diagnosis] {
            let end = HostCheck.deadline(limit)
            return checks.flatMap { check, result -> [Diagnosis] in
                if let diagnoses = result(end) { return diagnoses }
                return [
                    Diagnosis(
                        .checkTimedOut, "\(check.subject): no result in time",
                        fix: "look at it by hand, or give it longer: --patience SECONDS")
                ]
            }
        }
    }

    /// Runs a check on a thread of its own.
    /// - Returns: its diagnoses; `nil` if there are none by the deadline.
    static func start(_ check: HostCheck) -> @Sendable (_ deadline: DispatchTime) -> [Diagnosis]? {
        let result = Result(check)
        return { result.diagnoses(by: $0) }
    }

    static func deadline(_ limit: Duration) -> DispatchTime {
        .now() + .milliseconds(Int(max(.zero, limit) / .milliseconds(1)))
    }

    /// What a thread is about to find out.
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
                // No thread can be had: one after the other, then.
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
