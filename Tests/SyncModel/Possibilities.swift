/// A request with its known outcome.
package struct Exchange: Sendable {
    package let request: Request
    package let caller: Caller
    /// The unique number of the request.
    package let serial: Int
    /// The reply; nil if it was lost, or perhaps the request itself.
    package let reply: Reply?
    /// Errors that may occur, without effect, because of an injected fault.
    package let excuses: [Refusal]

    /// Creates an exchange from a request and its outcome.
    package init(_ request: Request, from caller: Caller, serial: Int, reply: Reply?, excuses: [Refusal] = []) {
        self.request = request
        self.caller = caller
        self.serial = serial
        self.reply = reply
        self.excuses = excuses
    }
}

/// All possible states of the server, given all of its replies.
///
/// There is usually one. A lost reply doubles their number, and later replies eliminate the states that contradict
/// them.
package struct Possibilities: Sendable {
    /// Never empty.
    package private(set) var worlds: [World]

    /// Creates the possibilities of a server with a known state, by default without users.
    package init(of world: World = World()) { worlds = [world] }

    /// The state to use for planning the next request.
    package var likeliest: World { worlds[0] }

    /// Applies simultaneous exchanges, which the server performed in an unknown order.
    ///
    /// - Returns: the contradictions of each possible order if every order is contradicted; then nothing changes.
    package mutating func account(for exchanges: [Exchange]) -> [String] {
        var next: [World] = []
        var contradictions: [String] = []
        for order in Self.orders(of: exchanges) {
            for world in worlds {
                var branches = [world]
                for exchange in order {
                    branches = branches.flatMap(\.afterMoves).flatMap { $0.branches(after: exchange, &contradictions) }
                }
                for branch in branches where !next.contains(branch) { next.append(branch) }
            }
        }
        guard !next.isEmpty else { return contradictions }
        worlds = next
        return []
    }

    /// Applies the end of the server's moves.
    /// - Returns: whether it is possible.
    package mutating func movesHaveEnded() -> Bool {
        var ended: [World] = []
        for world in worlds.flatMap(\.afterMoves)
        where !world.switches.values.contains(where: \.isMoving) && !ended.contains(world) {
            ended.append(world)
        }
        guard !ended.isEmpty else { return false }
        worlds = ended
        return true
    }

    private static func orders(of exchanges: [Exchange]) -> [[Exchange]] {
        guard exchanges.count > 1 else { return [exchanges] }
        return exchanges.indices.flatMap { first in
            var rest = exchanges
            let exchange = rest.remove(at: first)
            return orders(of: rest).map { [exchange] + $0 }
        }
    }
}

extension World {
    /// The possible states after an exchange; empty if the reply is impossible.
    fileprivate func branches(after exchange: Exchange, _ contradictions: inout [String]) -> [World] {
        var next = self
        let answer = next.respond(to: exchange.request, from: exchange.caller, as: exchange.serial)
        let broken = next.brokenLaws(by: exchange.request, answer, after: self)
        guard broken.isEmpty else {
            contradictions += broken
            return []
        }
        guard let reply = exchange.reply else {
            next.forgetUnknownInvitations()
            return next == self ? [self] : next.settled + [self]
        }
        var lesson = Lesson()
        var differences = answer.differences(from: reply, &lesson)
        if differences.isEmpty {
            if next.learn(lesson) { return next.settled }
            differences = ["two users have the same id"]
        }
        if case .refused(let refusal) = reply, exchange.excuses.contains(refusal) { return [self] }
        contradictions += differences
        return []
    }

    /// Checks invariants of every request, regardless of its endpoint: an accepted change raises the master version of
    /// each affected group by one, and nothing else raises a version or changes a group.
    private func brokenLaws(by request: Request, _ answer: Answer, after before: World) -> [String] {
        groups.flatMap { uuid, group -> [String] in
            guard let old = before.groups[uuid] else {
                return group.masterVersion == 0 ? [] : ["a new group does not start at master version 0"]
            }
            switch group.masterVersion - old.masterVersion {
            case 0 where request.mayLeaveMasterVersions && group.differsOnlyByStorage(from: old): return []
            case 0 where group.files == old.files && group.members == old.members && group.name == old.name: return []
            case 0: return ["the model changes \(uuid) without a new master version: \(request)"]
            case 1 where answer.isAcceptance: return []
            default: return ["the model raises a master version by more than one or unnecessarily: \(request)"]
            }
        }
    }
}
