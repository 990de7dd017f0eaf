/// Decides which requests run at once, which wait for their turn, and which are rejected, so that no key uses more than
/// its share of the threads.
///
/// Waiting uses no thread: the thread that ends a turn continues with the next request waiting under the same key, if
/// any, so the key never uses more than `maximumRunning` threads, and no turn is lost.
struct Turns<Key: Hashable, Waiting> {
    let maximumRunning: Int
    /// For one key.
    let maximumWaiting: Int
    /// For all keys together.
    let maximumWaitingOfAll: Int
    private var lines: [Key: Line] = [:]
    private var waitingOfAll = 0

    private struct Line {
        var running = 0
        var waiting: [Waiting] = []
    }

    init(maximumRunning: Int, maximumWaiting: Int, maximumWaitingOfAll: Int) {
        self.maximumRunning = max(1, maximumRunning)
        self.maximumWaiting = maximumWaiting
        self.maximumWaitingOfAll = maximumWaitingOfAll
    }

    /// Decides about one more request; `waiting` is stored only if it has to wait.
    mutating func enter(_ key: Key, _ waiting: Waiting) -> TurnDecision {
        var line = lines.removeValue(forKey: key) ?? Line()
        defer { lines[key] = line }
        if line.running < maximumRunning {
            line.running += 1
            return .goesOn
        }
        guard line.waiting.count < maximumWaiting, waitingOfAll < maximumWaitingOfAll else { return .refused }
        line.waiting.append(waiting)
        waitingOfAll += 1
        return .waits
    }

    /// Ends one turn, which passes to the returned request.
    mutating func leave(_ key: Key) -> Waiting? {
        guard var line = lines.removeValue(forKey: key) else { return nil }
        if line.waiting.isEmpty {
            line.running -= 1
            if line.running > 0 { lines[key] = line }
            return nil
        }
        waitingOfAll -= 1
        let next = line.waiting.removeFirst()
        lines[key] = line
        return next
    }

    var isEmpty: Bool { lines.isEmpty && waitingOfAll == 0 }
}

/// What happens to a request that needs a turn.
enum TurnDecision {
    case goesOn
    case waits
    case refused
}
