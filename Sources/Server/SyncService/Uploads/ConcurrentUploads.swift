import Dispatch
import HTTPTransport
import Providers
import Store
import SyncProtocol
import Synchronization
import Vault

/// Memory taken from the budget, returned when the last reference is dropped.
///
/// Changes only by being dropped.
final class ReservedMemory: Sendable {
    private let bytes: Int
    private let budget: PartBudget

    init(_ bytes: Int, of budget: PartBudget) {
        self.bytes = bytes
        self.budget = budget
        budget.observer(bytes)
    }

    deinit {
        budget.observer(-bytes)
        budget.putBack(bytes)
    }
}

/// Uploads small files on other threads, several at once.
///
/// A thread exists only as long as its upload: while the phone sends nothing, none is held. The first upload counts as
/// the request's own transfer; each further one counts towards the shares of the user and of the process, or waits its
/// turn.
final class ConcurrentUploads: Sendable {
    /// How many files of one request are uploaded to the provider at once.
    private static let maximumAtOnce = 8

    /// What an upload needs.
    typealias Call = (
        storage: UserStorage, content: BytesContent, reservation: ObjectReservation, mimeType: MIMEType,
        memory: ReservedMemory?
    )
    typealias Outcome = Result<StoredObject, any Error>

    private struct State {
        var running = 0
        var outcomes: [(index: Int, outcome: Outcome)] = []
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)
    private let user: UserID
    private let services: Services

    init(of user: UserID, in services: Services) {
        self.user = user
        self.services = services
    }

    /// Begins an upload; waits until one may begin.
    func send(_ index: Int, _ passed: PassedToThread<Call>) {
        while !begin() { ended.wait() }
        let run: @Sendable () -> Void = { [self] in
            let call = passed.value
            call.storage.join()
            let outcome = Outcome { try call.storage.upload(call.content, as: call.reservation, call.mimeType) }
            end(index, outcome)
        }
        do { try services.background(run) } catch { run() }
    }

    private func begin() -> Bool {
        state.withLock { state in
            if state.running > 0 {
                guard state.running < Self.maximumAtOnce else { return false }
                do { try services.transferLimit?.enter(user, .upload) } catch { return false }
            }
            state.running += 1
            return true
        }
    }

    private func end(_ index: Int, _ outcome: Outcome) {
        state.withLock { state in
            state.outcomes.append((index, outcome))
            state.running -= 1
            if state.running > 0 { services.transferLimit?.leave(user, .upload) }
        }
        ended.signal()
    }

    /// Waits until an upload has ended.
    /// - Returns: `false` if none is in progress.
    func waitForOne() -> Bool {
        guard state.withLock({ $0.running > 0 }) else { return false }
        ended.wait()
        return true
    }

    /// Waits for all uploads.
    func outcomes() -> [(index: Int, outcome: Outcome)] {
        while waitForOne() {}
        return state.withLock { $0.outcomes }
    }
}
