import Foundation
import Synchronization

/// Keeps a connection for signals about changes, and connects again when it ends.
///
/// A signal can be lost between the server and the web server. So the listener renews its connection at intervals, and
/// sends the last state that it received: if that is the current state, no signal was lost
/// (docs/adr/0119-a-renewed-stream-replaces-asking.md).
struct LiveListener: Sendable {
    /// The longest time without a renewal.
    static let longestTrust: Duration = .seconds(1_800)
    /// The longest pause after failures, in seconds.
    private static let longestPause = 60.0
    /// The longest pause that a server can request, in seconds.
    private static let longestWanted = 600.0
    /// The range of the pause after the server has ended a stream: other devices connect again at the same time.
    private static let jitter = 0.0...2.0

    let connection: ServerConnection
    let credentials: any CredentialProvider
    let driver: SyncDriver
    /// The time from the last signal to the first renewal; it doubles with each further renewal.
    let firstTrust: Duration
    let continuation: AsyncStream<LiveChange>.Continuation

    /// The values that are kept from one connection to the next.
    private struct Progress {
        /// The state to send.
        var known: String?
        /// The time to the next renewal.
        var trust: Duration
        /// Whether the app was notified that the server sends signals.
        var isListening = false
        /// The last version of each group that was signalled.
        var versions: [SharingGroupUUID: MasterVersion] = [:]
        var failures = 0
        /// How often in a row the server has named another state instead of waiting.
        var corrections = 0
    }

    /// Why a connection ended.
    private enum Ending {
        /// The server has ended it, and reported this state.
        case server(known: String?, hasWaited: Bool)
        case failure(ServerConnectionError)
        /// It is time for a renewal.
        case renewal
        /// The user has signed out, or has other credentials.
        case credentials
        /// The instance is suspended, or closed.
        case suspension
        /// Nobody reads the stream any more.
        case cancellation
    }

    func run() async {
        var progress = Progress(trust: firstTrust)
        defer { continuation.finish() }
        while !Task.isCancelled, await awaitResumption() {
            var pause = 0.0
            switch await listen(&progress) {
            case .server(let known, let hasWaited):
                progress.failures = 0
                progress.corrections = hasWaited || known == progress.known ? 0 : progress.corrections + 1
                progress.known = known
                // The first time, the server has named the current state, and waits for it.
                switch progress.corrections {
                case 0: pause = Double.random(in: Self.jitter)
                case 1: pause = 0
                default: pause = Self.pause(after: progress.corrections - 1)
                }
            case .failure(let error):
                interrupt(&progress)
                guard !error.endsListening else { return }
                progress.failures += 1
                pause = Self.pause(after: progress.failures)
                if let wanted = error.retryAfter {
                    pause = max(pause, min(wanted / .seconds(1), Self.longestWanted))
                }
            case .renewal: progress.trust = min(progress.trust * 2, Self.longestTrust)
            case .credentials: break
            case .suspension: interrupt(&progress)
            case .cancellation: return
            }
            guard pause > 0 else { continue }
            do { try await driver.environment.sleep(.seconds(pause)) } catch { return }
        }
    }

    /// Exponential back-off starting at one second, with jitter so that devices differ; in seconds.
    private static func pause(after failures: Int) -> Double {
        min(longestPause, Double(1 << min(failures - 1, 6))) * Double.random(in: 0.5...1)
    }

    private func interrupt(_ progress: inout Progress) {
        if progress.isListening { continuation.yield(.interrupted) }
        progress.isListening = false
    }

    /// Listens until the connection ends for any reason.
    private func listen(_ progress: inout Progress) async -> Ending {
        let (signals, arrivals) = AsyncStream.makeStream(of: ListenedSignal.self)
        let request = Task { [connection, known = progress.known] () -> Result<String?, ServerConnectionError> in
            defer { arrivals.finish() }
            do throws(ServerConnectionError) {
                return .success(try await connection.listen(after: known) { arrivals.yield($0) })
            } catch { return .failure(error) }
        }
        let cut = Cut(request)
        let suspensions = driver.suspensions.stream(.bufferingNewest(1), first: driver.isSuspended)
        let watching = Task {
            for await isSuspended in suspensions where isSuspended { break }
            cut(.suspension)
        }
        var hasWaited = false
        await withTaskCancellationHandler {
            var opening: Credentials?
            var renewal: Task<Void, Never>?
            // Each heartbeat is a signal as well.
            for await signal in signals {
                let present = await credentials.credentials()
                guard let present, opening == nil || opening == present else {
                    cut(.credentials)
                    break
                }
                opening = present
                switch signal {
                case .listening:
                    hasWaited = true
                    progress.corrections = 0
                    if !progress.isListening { continuation.yield(.listening) }
                    progress.isListening = true
                case .signal(let signal):
                    guard tell(signal, &progress) else { continue }
                    progress.trust = firstTrust
                    renewal?.cancel()
                    renewal = nil
                }
                guard hasWaited, renewal == nil else { continue }
                renewal = Task { [driver, trust = progress.trust] in
                    do { try await driver.environment.sleep(trust) } catch { return }
                    cut(.renewal)
                }
            }
            renewal?.cancel()
        } onCancel: {
            cut(.cancellation)
        }
        let result = await request.value
        let ending = cut.ending
        watching.cancel()
        if let ending { return ending }
        switch result {
        case .success(let known): return .server(known: known, hasWaited: hasWaited)
        case .failure(let error): return .failure(error)
        }
    }

    /// - Returns: false if the server repeats a signal, which it does for ten seconds.
    private func tell(_ signal: ChangeSignal, _ progress: inout Progress) -> Bool {
        guard let change = signal.change else {
            continuation.yield(.somethingChanged)
            return true
        }
        let last = progress.versions.updateValue(change.masterVersion, forKey: change.sharingGroupUUID)
        guard last != change.masterVersion else { return false }
        continuation.yield(.changed(change.sharingGroupUUID, change.masterVersion))
        return true
    }

    /// Waits until the instance is not suspended.
    /// - Returns: false if the library has ended.
    private func awaitResumption() async -> Bool {
        let suspensions = driver.suspensions.stream(.bufferingNewest(1), first: driver.isSuspended)
        for await isSuspended in suspensions where !isSuspended { return !driver.state.withLock { $0.isClosed } }
        return false
    }

    /// Ends a request before the server does, for the first of several reasons.
    private final class Cut: Sendable {
        private let request: Task<Result<String?, ServerConnectionError>, Never>
        private let first = Mutex<Ending?>(nil)

        init(_ request: Task<Result<String?, ServerConnectionError>, Never>) { self.request = request }

        var ending: Ending? { first.withLock { $0 } }

        func callAsFunction(_ ending: Ending) {
            first.withLock { $0 = $0 ?? ending }
            request.cancel()
        }
    }
}

extension ServerConnectionError {
    /// Whether connecting again is futile until the app, the user or the operator does something.
    fileprivate var endsListening: Bool {
        switch code {
        case .signInRequired, .serverVersionTooOld, .notSupported, .invalidRequest: true
        default: serverCode == .known(.endpointUnknown) || status == 404
        }
    }
}
