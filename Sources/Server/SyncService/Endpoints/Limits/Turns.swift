/// Who goes on at once, who waits for their turn, and who is refused, so that nobody holds more than a share of the threads.
///
/// Waiting takes no thread: whoever ends their turn goes on with the next that waits under the same key, if any, and so
/// the key never has more than `maximumRunning` threads, and no turn is lost.
struct Turns<Key: Hashable, Waiting> {
    enum Decision: Equatable {
        case goesOn
        case waits
        case refused
    }

    let maximumRunning: Int
    /// Of one key.
    let maximumWaiting: Int
    /// Of all keys together.
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

    /// Decides about one more; `waiting` is kept only if it has to wait.
    mutating func enter(_ key: Key, _ waiting: Waiting) -> Decision {
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

    /// Ends one turn; who is returned has it now.
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
