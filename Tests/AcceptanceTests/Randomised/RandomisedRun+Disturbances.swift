import SyncModel
import TestSupport

/// Requests with disturbances.
extension RandomisedRun {
    /// The phone disconnects after sending, and sends again while the first copy may still be on its way.
    mutating func makeTwice(_ request: Request, by caller: Caller) async throws {
        var settlement = try Settlement(server)
        let call = try httpCall(request, by: caller)
        note("\(caller) \(PhoneCall(request).description) → hangs up at once")
        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(call.head(for: server.address))
        if let body = call.body { try conversation.send(body) }
        conversation.hangUp()
        let first = Exchange(request, from: caller, serial: nextSerial(), reply: nil)
        let second = try perform(request, by: caller, "again", excuses: Refusal.crowding)
        try await settlement.wait(for: 2)
        try account(for: [first, answered(second)])
    }

    /// Makes a request while the provider misbehaves.
    mutating func make(_ request: Request, by caller: Caller, during trouble: CloudTrouble) throws {
        for fault in trouble.faults { try server.sandbox.inject(fault) }
        let exchange = try perform(
            request, by: caller, "cloud: \(trouble.description)",
            excuses: trouble.mayFail ? Refusal.cloudFailures : [])
        try server.sandbox.clearFaults()
        // If the storage fails during a download, the reply is cut off.
        if case .downloadFile = request {
            try account(for: [exchange])
        } else {
            try account(for: [answered(exchange)])
        }
    }

    mutating func cutBody(of request: Request, by caller: Caller) async throws {
        let call = try httpCall(request, by: caller)
        guard let body = call.body, !body.isEmpty, case .uploadFile(let upload) = request else { return }
        var settlement = try Settlement(server)
        note("\(caller) \(PhoneCall(request).description) → hangs up in the middle")
        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(call.head(for: server.address))
        try conversation.send(body.prefix(Int.random(in: 0..<body.count, using: &random)))
        conversation.hangUp()
        // A row that is already staged with these bytes may change its batch whether or not they arrive.
        let staged = possibilities.likeliest.groups[upload.group.group]?.staged[caller]?[upload.file]
        guard staged?.upload?.content == upload.content else { return }
        try await settlement.wait(for: 1)
        try account(for: [Exchange(request, from: caller, serial: nextSerial(), reply: nil)])
    }

    mutating func makeWhileKilling(_ request: Request, by caller: Caller, _ delay: Int) async throws {
        let part = PhoneCall(request).isTransfer ? "syncd_transfer" : "syncd_api"
        let raw = try await perform(httpCall(request, by: caller), whileKilling: part, after: delay)
        let reply = try raw.flatMap { try Reply($0, to: PhoneCall(request)) }
        note("\(caller) \(PhoneCall(request).description) [responder killed] → \(reply?.description ?? "nothing")")
        try account(for: [Exchange(request, from: caller, serial: nextSerial(), reply: reply)])
        if reply == nil { try make(request, by: caller, "again") }
    }

    /// Makes a request while a responder is killed after `delay` microseconds.
    /// - Returns: `nil` if there is no reply.
    mutating func perform(
        _ call: HTTPCall, whileKilling part: String, after delay: Int
    ) async throws -> HTTPReply? {
        let responders = try server.processes(part)
        // The run needs the last responder.
        guard responders.count > 1, let victim = random.pick(responders) else {
            return try server.address.perform(call)
        }
        let server = server
        async let killed: Void = Threads.run { victim.kill(after: .microseconds(delay)) }
        let result = try await Threads.run { Result { try server.address.perform(call) } }
        try await killed
        try await eventually("the responder has ended") { !victim.isRunning }
        try await server.awaitQuietDatabase()
        return try? result.get()
    }

    mutating func makeSimultaneously(_ request: Request, by caller: Caller) async throws {
        let planner = RequestPlanner(world: possibilities.likeliest, cast: cast)
        var other = planner.next(&random)
        for _ in 0..<40 where other.caller.person == caller.person || other.request.group != request.group {
            other = planner.next(&random)
        }
        guard other.caller.person != caller.person else { return try make(request, by: caller) }
        if possibilities.likeliest.users[other.caller.person] == nil {
            try cast.signInAgain(other.caller.person)
        }
        let requests = [request, other.request]
        let callers = [caller, other.caller]
        let calls = try [httpCall(request, by: caller), httpCall(other.request, by: other.caller)]
        let server = server
        let replies = try await Threads.run(2) { try server.address.perform(calls[$0]) }
        var exchanges: [Exchange] = []
        for number in 0..<2 {
            let reply = try Reply(replies[number], to: PhoneCall(requests[number]))
            note(
                "\(callers[number]) \(PhoneCall(requests[number]).description) [at the same time] → "
                    + (reply?.description ?? "nothing"))
            exchanges.append(
                try answered(
                    Exchange(
                        requests[number], from: callers[number], serial: nextSerial(), reply: reply,
                        excuses: Refusal.crowding)))
        }
        try account(for: exchanges)
    }

    /// Commits while another caller reads the group repeatedly, and must see either all of the commit or none of it.
    mutating func commitWatched(_ request: Request, by caller: Caller) async throws {
        let watcher = random.pick(cast.callers) ?? caller
        let look = Request.index(group: request.group)
        let calls = try [httpCall(request, by: caller), httpCall(look, by: watcher)]
        let server = server
        let replies = try await Threads.run(2) { number in
            // Six reads take about as long as one commit.
            try (0..<(number == 0 ? 1 : 6)).map { _ in try server.address.perform(calls[number]) }
        }
        let before = possibilities
        let reply = try Reply(replies[0][0], to: PhoneCall(request))
        note("\(caller) \(PhoneCall(request).description) [watched] → \(reply?.description ?? "nothing")")
        try account(for: [
            answered(Exchange(request, from: caller, serial: nextSerial(), reply: reply, excuses: Refusal.crowding))
        ])
        var hasHappened = false
        for seen in replies[1] {
            let exchange = Exchange(
                look, from: watcher, serial: nextSerial(), reply: try Reply(seen, to: PhoneCall(look)))
            var earlier = before
            var later = possibilities
            let isEarlier = !hasHappened && earlier.account(for: [exchange]).isEmpty
            let contradictions = later.account(for: [exchange])
            if isEarlier { continue }
            guard contradictions.isEmpty else {
                throw difference(["\(watcher) saw neither all nor nothing of a commit"] + contradictions)
            }
            hasHappened = true
            possibilities = later
        }
    }
}
