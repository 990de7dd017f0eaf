internal import Foundation
internal import SyncClient
internal import SyncEngine
internal import SyncProtocol
internal import Synchronization

/// Decides the events of a simulated network and their times.
final class SimulatedScheduler: Sendable {
    /// An event that a phone is waiting for.
    private struct Waiting {
        let phone: Int
        let id: Int
        let due: Double
        let wake: @Sendable (inout State) -> Void
    }

    private struct State {
        var random: SplitMix64
        var faults: SimulatedService.Faults
        var world: SimulatedWorld
        var time: Double = 1_700_000_000
        var waiting: [Waiting] = []
        var dying: Set<Int> = []
        var lastID = 0
        /// Each phone's own random source, so that one phone does not influence another's.
        var chances: [Int: SplitMix64] = [:]
    }

    private let state: Mutex<State>
    private let seed: UInt64
    let group: SharingGroupUUID

    init(seed: UInt64, faults: SimulatedService.Faults, group: SharingGroupUUID) {
        self.seed = seed
        self.group = group
        state = Mutex(
            State(random: SplitMix64(seed: seed), faults: faults, world: SimulatedWorld(seed: seed, group: group)))
    }

    func addMember(_ user: UserID) {
        let group = group
        world { $0.add(user, to: group) }
    }

    // MARK: For tests

    var faults: SimulatedService.Faults { state.withLock { $0.faults } }

    func random(below bound: Int) -> Int { state.withLock { $0.random.below(bound) } }

    /// Reads or changes the server and its people.
    @discardableResult
    func world<Value: Sendable>(_ body: @Sendable (inout SimulatedWorld) -> Value) -> Value {
        state.withLock { body(&$0.world) }
    }

    func restore() { state.withLock { $0.world.restore(at: $0.time) } }

    var masterVersions: [SharingGroupUUID: MasterVersion] { world { $0.server.groups.mapValues(\.masterVersion) } }

    func files(in group: SharingGroupUUID) -> [FileUUID: SimulatedService.ServerFile] {
        let known = state.withLock { $0.world.server.groups[group]?.files ?? [:] }
        return known.mapValues { file in
            SimulatedService.ServerFile(
                contents: Data(base64Encoded: file.contents) ?? Data(), appMetaData: file.text?.contents,
                fileVersion: file.version, isDeleted: file.isDeleted)
        }
    }

    /// Runs `body` without faults.
    func withoutFaults(_ body: () async throws -> Void) async throws {
        let faults = state.withLock { state in
            defer { state.faults = .none }
            return state.faults
        }
        defer { state.withLock { $0.faults = faults } }
        try await body()
    }

    // MARK: Time

    var date: Date { Date(timeIntervalSince1970: state.withLock { $0.time }) }

    /// Whether a phone waits for its network, or for time to pass.
    func isWaited(for phone: Int) -> Bool { state.withLock { $0.waiting.contains { $0.phone == phone } } }

    var isWaitedForAnything: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Performs the event that is due first; false if nothing is waiting.
    func performNext() -> Bool {
        state.withLock { state in
            // Simultaneous events happen in the order of the phones.
            let order = state.waiting.indices.min { left, right in
                let (one, other) = (state.waiting[left], state.waiting[right])
                return (one.due, one.phone, one.id) < (other.due, other.phone, other.id)
            }
            guard let order else { return false }
            let next = state.waiting.remove(at: order)
            state.time = max(state.time, next.due)
            state.world.happen(state.faults, at: state.time)
            next.wake(&state)
            return true
        }
    }

    /// Whether a phone's process must end now; reports this once.
    func takeDeath(of phone: Int) -> Bool { state.withLock { $0.dying.remove(phone) != nil } }

    /// Whether a delivery to a phone must be repeated.
    func redelivers(to phone: Int) -> Bool {
        state.withLock { state in
            let chance = once(in: 12, phone, &state)
            return state.faults.contains(.redeliveries) && chance
        }
    }

    /// A number from a phone's own random source.
    func chance(below bound: Int, phone: Int) -> Int { state.withLock { below(bound, phone, &$0) } }

    private func once(in count: Int, _ phone: Int, _ state: inout State) -> Bool {
        below(count, phone, &state) == 0
    }

    private func below(_ bound: Int, _ phone: Int, _ state: inout State) -> Int {
        state.chances[phone, default: SplitMix64(seed: seed &* 31 &+ UInt64(phone))].below(bound)
    }

    /// Waits in virtual time.
    /// - Throws: `CancellationError`.
    func sleep(_ seconds: Double, phone: Int) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let box = Resumption<Bool>()
        let wasWoken = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                box.set(continuation)
                guard !Task.isCancelled else {
                    box.resume(false)
                    return
                }
                state.withLock { state in
                    state.waiting.append(
                        Waiting(phone: phone, id: id, due: state.time + seconds) { _ in box.resume(true) })
                }
                if Task.isCancelled { forget(id, box) }
            }
        } onCancel: {
            forget(id, box)
        }
        if !wasWoken { throw CancellationError() }
    }

    private func forget(_ id: Int, _ box: Resumption<Bool>) {
        state.withLock { $0.waiting.removeAll { $0.id == id } }
        box.resume(false)
    }

    // MARK: Requests

    /// Sends a request over the simulated network.
    func reply(
        to request: ServerRequest, from caller: ModelCaller, phone: Int, contents: String?
    ) async -> ModelServer.Answer {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let box = Resumption<ModelServer.Answer>()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                box.set(continuation)
                state.withLock { state in
                    let plan = plan(phone, &state)
                    let restorations = state.world.restorations
                    state.waiting.append(
                        Waiting(phone: phone, id: id, due: state.time + plan.seconds) { state in
                            box.resume(self.perform(request, caller, contents, plan, restorations, &state))
                        })
                }
                if Task.isCancelled { abandon(id, box) }
            }
        } onCancel: {
            abandon(id, box)
        }
    }

    /// Handles the end of a process that waits for a reply. Half of its requests still arrive.
    private func abandon(_ id: Int, _ box: Resumption<ModelServer.Answer>) {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return }
            let request = state.waiting.remove(at: index)
            if once(in: 2, request.phone, &state) { request.wake(&state) }
        }
        box.resume(ModelServer.Answer(.failed(.unreachable)))
    }

    /// The fate of a request.
    private enum Fate {
        case answered
        case answeredTwice
        case requestLost
        case replyLost
        case closed
        case broken
    }

    private struct Plan {
        let fate: Fate
        let seconds: Double
    }

    private func plan(_ phone: Int, _ state: inout State) -> Plan {
        let chance = below(40, phone, &state)
        let milliseconds = below(1_400, phone, &state)
        let isDeath = once(in: 60, phone, &state)
        if isDeath, state.faults.contains(.deaths) { state.dying.insert(phone) }
        var fate = Fate.answered
        if state.faults.contains(.network) {
            switch chance {
            case 0: fate = .requestLost
            case 1: fate = .replyLost
            case 2: fate = .closed
            case 3: fate = .broken
            case 4: fate = .answeredTwice
            default: break
            }
        }
        let isLost = fate == .requestLost || fate == .replyLost
        return Plan(fate: fate, seconds: isLost ? 60 : Double(1 + milliseconds) / 1_000)
    }

    private func perform(
        _ request: ServerRequest, _ caller: ModelCaller, _ contents: String?, _ plan: Plan, _ restorations: Int,
        _ state: inout State
    ) -> ModelServer.Answer {
        func answer() -> ModelServer.Answer {
            state.world.perform(request, from: caller, contents: contents, sentAfter: restorations, at: state.time)
        }
        switch plan.fate {
        case .answered: return answer()
        case .answeredTwice:
            _ = answer()
            return answer()
        case .requestLost: return ModelServer.Answer(.failed(.unreachable))
        case .replyLost:
            _ = answer()
            return ModelServer.Answer(.failed(.unreachable))
        case .closed: return ModelServer.Answer(.failed(.serverDown(message: nil)))
        case .broken: return .refused(.cloudUnavailable)
        }
    }
}

/// Resumes a continuation exactly once; the first call counts.
private final class Resumption<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<Value, Never>)
        case resumed(Value)
        case done
    }

    private let state = Mutex(State.empty)

    func set(_ continuation: CheckedContinuation<Value, Never>) {
        let value: Value? = state.withLock { state in
            if case .resumed(let value) = state {
                state = .done
                return value
            }
            state = .waiting(continuation)
            return nil
        }
        if let value { continuation.resume(returning: value) }
    }

    func resume(_ value: Value) {
        let continuation: CheckedContinuation<Value, Never>? = state.withLock { state in
            switch state {
            case .empty:
                state = .resumed(value)
                return nil
            case .waiting(let continuation):
                state = .done
                return continuation
            case .resumed, .done: return nil
            }
        }
        continuation?.resume(returning: value)
    }
}
