/// One request with what is known of its outcome.
package struct Exchange: Sendable {
    package let request: Request
    package let caller: Caller
    /// The number of the request; no two have the same.
    package let serial: Int
    /// What came back; nil if the reply was lost, and perhaps the request itself.
    package let reply: Reply?
    /// Errors that may come, without effect, because something was broken on purpose.
    package let excuses: [Refusal]

    /// Notes a request and its outcome.
    package init(_ request: Request, from caller: Caller, serial: Int, reply: Reply?, excuses: [Refusal] = []) {
        self.request = request
        self.caller = caller
        self.serial = serial
        self.reply = reply
        self.excuses = excuses
    }
}

/// All states in which the server may be, given everything that it has said.
///
/// Usually that is one. A lost reply makes two of each, and what the server says next takes away those that would have
/// said something else.
package struct Possibilities: Sendable {
    /// Never empty.
    package private(set) var worlds: [World]

    /// A server whose state is known: without users unless told otherwise.
    package init(of world: World = World()) { worlds = [world] }

    /// The state to plan the next request by.
    package var likeliest: World { worlds[0] }

    /// Takes exchanges into account that happened at the same time, one after the other in an order that nobody knows.
    ///
    /// - Returns: for each possible order, what contradicts it, if every order is contradicted; then nothing changes.
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

    /// Takes into account that the server has moved everything that it was to move.
    /// - Returns: whether that can be.
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
    /// The states in which this one may be after an exchange; none if the reply is impossible.
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
            differences = ["two users have the same number"]
        }
        if case .refused(let refusal) = reply, exchange.excuses.contains(refusal) { return [self] }
        contradictions += differences
        return []
    }

    /// What must hold of every request, whatever the rules of its endpoint say: an accepted change raises the master
    /// version by one in each group that it touches, and nothing else raises or changes anything.
    private func brokenLaws(by request: Request, _ answer: Answer, after before: World) -> [String] {
        groups.flatMap { uuid, group -> [String] in
            guard let old = before.groups[uuid] else {
                return group.masterVersion == 0 ? [] : ["a new group does not start at 0"]
            }
            switch group.masterVersion - old.masterVersion {
            case 0 where request.mayLeaveMasterVersions && group.differsOnlyByStorage(from: old): return []
            case 0 where group.files == old.files && group.members == old.members && group.name == old.name: return []
            case 0: return ["the model changes \(uuid) without a new master version: \(request)"]
            case 1 where answer.isAcceptance: return []
            default: return ["the model raises a master version by more than one, or without need: \(request)"]
            }
        }
    }
}
