import SyncModel
import TestSupport

/// Comparisons of the server with the model.
extension RandomisedRun {
    /// Reads the objects of the request with its device and with another caller.
    mutating func observe(after request: Request, by caller: Caller) throws {
        let other = random.pick(cast.callers) ?? caller
        try look(.index(group: request.group ?? random.pick(possibilities.likeliest.groups.keys.sorted())), by: other)
        if let group = request.group { try look(.getUploads(group: group), by: caller) }
        if random.chance(20) { try resumeDownload() }
        guard possibilities.worlds.count > 1 else { return }
        try look(.index(group: request.group), by: caller)
        try look(.index(group: nil), by: caller)
    }

    /// Reads everything with every caller, including what they may not see.
    mutating func observeEverything() throws {
        for person in cast.people {
            let callers = cast.callers(of: person)
            guard let first = callers.first else { continue }
            try look(.index(group: nil), by: first)
            for group in possibilities.likeliest.groups.keys.sorted() {
                try look(.index(group: group), by: first)
                guard possibilities.likeliest.groups[group]?.isDeleted == false else { continue }
                for caller in callers { try look(.getUploads(group: group), by: caller) }
            }
        }
    }

    /// Downloads every live file.
    mutating func observeAllFiles() throws {
        for (uuid, group) in possibilities.likeliest.groups.sorted(by: { $0.key < $1.key }) {
            let readers = cast.callers.filter { group.members[$0.person] != nil }
            for (file, entry) in group.files.sorted(by: { $0.key < $1.key }) where !entry.isDeleted {
                guard let reader = random.pick(readers) else { continue }
                let selection = Request.FileSelection(file, in: .init(uuid, at: group.masterVersion))
                try look(
                    .downloadFile(selection, version: entry.version, metadataVersion: entry.metadata?.version),
                    by: reader)
            }
        }
    }

    mutating func look(_ request: Request, by caller: Caller) throws {
        tally.observations += 1
        let raw = try server.address.perform(httpCall(request, by: caller))
        guard let reply = try Reply(raw, to: PhoneCall(request)) else {
            throw difference(["\(caller) got no whole reply to \(request)"])
        }
        let contradictions = possibilities.account(for: [
            Exchange(request, from: caller, serial: nextSerial(), reply: reply)
        ])
        guard contradictions.isEmpty else {
            throw difference(["\(caller) sees by \(PhoneCall(request).description):"] + contradictions)
        }
        if random.chance(30) { try lookAgain(request, by: caller, after: raw) }
    }

    /// Repeats the request with the ETag of an earlier reply, and expects 304 if and only if the answer is unchanged.
    private mutating func lookAgain(_ request: Request, by caller: Caller, after raw: HTTPReply) throws {
        guard possibilities.worlds.count == 1, case .index(let group, nil) = request,
            !possibilities.likeliest.switches.values.contains(where: \.isMoving),
            let user = possibilities.likeliest.users[caller.person], let tag = raw.values(of: "etag").first
        else { return }
        var world = possibilities.likeliest
        let answer = world.respond(to: request, from: caller, as: 0)
        let key = "\(user) \(group ?? "")"
        let known = tags[key] ?? (tag, answer)
        var call = try httpCall(request, by: caller)
        call.headers.append(("If-None-Match", known.tag))
        let status = try server.address.perform(call).status
        guard status == (known.answer == answer ? 304 : 200) else {
            throw difference(["\(caller) gets \(status) for Index with the tag of \(known.answer)", "now: \(answer)"])
        }
        tags[key] = (tag, answer)
    }
}
