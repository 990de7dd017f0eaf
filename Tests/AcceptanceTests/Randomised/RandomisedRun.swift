import SyncModel
import TestSupport

/// One run: generates requests, sends them with disturbances, and compares the server with the model after each.
struct RandomisedRun {
    let server: TestServer
    let seed: UInt64
    var random: SeededGenerator
    var cast: Cast
    var possibilities = Possibilities()
    var tally = Tally()
    /// The ETags of replies to Index, with the predicted answers.
    var tags: [String: (tag: String, answer: Answer)] = [:]
    /// The newest downloads that are treated as interrupted.
    var brokenDownloads: [BrokenDownload] = []
    /// The list of operations.
    private(set) var journal: [String] = []
    /// The time when the run began, by the server's clock, in the log's format.
    let beginning: String
    private let settings: RunSettings
    private var serial = 0
    private var step = 0

    /// Creates the people's accounts without signing up users.
    init(_ server: TestServer, seed: UInt64, _ settings: RunSettings) throws {
        self.server = server
        self.seed = seed
        self.settings = settings
        beginning = try server.clock().replacing(" ", with: "T")
        random = SeededGenerator(seed: seed)
        cast = try Cast(server, &random)
    }

    /// Makes the run's requests.
    /// - Throws: ``Difference``.
    mutating func run() async throws {
        for number in 1...settings.operations {
            step = number
            try await operate()
            if number % 200 == 0 { try observeEverything() }
        }
        try observeEverything()
        try observeAllFiles()
    }

    /// Leftovers of a killed responder are deleted when its lease expires, so none is killed towards the end.
    var mayKill: Bool { step * 10 < settings.operations * 6 }

    // MARK: Operations

    private mutating func operate() async throws {
        if random.chance(1) { return try await switchAccount() }
        let (request, caller) = RequestPlanner(world: possibilities.likeliest, cast: cast).next(&random)
        if possibilities.likeliest.users[caller.person] == nil { try cast.signInAgain(caller.person) }
        let call = PhoneCall(request)
        let disturbance = Disturbance.random(for: request, &random, among: cast, mayKill: mayKill)
        tally.operations += 1
        tally.endpoints[call.endpoint, default: 0] += 1
        tally.disturbed[disturbance.word, default: 0] += 1
        let begin = ContinuousClock.now
        defer { tally.time[disturbance.word, default: .zero] += ContinuousClock.now - begin }
        switch disturbance {
        case .none: try make(request, by: caller)
        case .lostReply:
            try account(for: [perform(request, by: caller, "reply lost").withoutReply])
            if random.chance(70) { try make(request, by: caller, "again") }
        case .hangUp: try await makeTwice(request, by: caller)
        case .cutBody:
            try await cutBody(of: request, by: caller)
        case .inPieces: try uploadInPieces(request, by: caller)
        case .direct: try await uploadDirectly(request, by: caller)
        case .inOneForm: try uploadInOneForm(request, by: caller)
        case .cloudTrouble(let trouble): try make(request, by: caller, during: trouble)
        case .killedResponder(let delay): try await makeWhileKilling(request, by: caller, delay)
        case .simultaneous: try await makeSimultaneously(request, by: caller)
        case .watched: try await commitWatched(request, by: caller)
        case .expiredTokens(let person):
            try server.sandbox.expireAccessTokens(of: cast.account(of: person))
            try make(request, by: caller, "after \(person)'s tokens expired")
        }
        try observe(after: request, by: caller)
        // A phone repeats requests whose effect it cannot see, such as staged contents.
        if possibilities.worlds.count > 1 { try make(request, by: caller, "again, since it is not sure") }
    }

    /// Makes a request and applies the reply to the model.
    mutating func make(_ request: Request, by caller: Caller, _ remark: String = "") throws {
        try account(for: [answered(perform(request, by: caller, remark))])
    }

    /// Returns the exchange, which must have a reply if nothing disturbed it.
    func answered(_ exchange: Exchange) throws -> Exchange {
        guard exchange.reply != nil else { throw difference(["no reply to \(exchange.request)"]) }
        return exchange
    }

    // MARK: Details

    func httpCall(_ request: Request, by caller: Caller) throws -> HTTPCall {
        let active = try cast.account(of: caller.person)
        guard case .confirmAccountSwitch(let confirmation) = request else {
            return PhoneCall(request).call(from: caller.device, account: active)
        }
        var call = try PhoneCall(request).call(from: caller.device, account: cast.known(confirmation.account))
        if confirmation.movesContents { call.headers.append(try active.proof()) }
        return call
    }

    mutating func perform(
        _ request: Request, by caller: Caller, _ remark: String = "", excuses: [Refusal] = []
    ) throws -> Exchange {
        let call = PhoneCall(request)
        let reply: Reply?
        do {
            let raw = try server.address.perform(httpCall(request, by: caller))
            reply = try Reply(raw, to: call)
            interrupt(request, by: caller, raw)
        } catch {
            note("\(caller) \(call.description)\(remark.isEmpty ? "" : " [\(remark)]") → \(error)")
            throw difference(["\(error)"])
        }
        note(
            "\(caller) \(call.description)\(remark.isEmpty ? "" : " [\(remark)]") → \(reply?.description ?? "nothing")")
        return Exchange(request, from: caller, serial: nextSerial(), reply: reply, excuses: excuses)
    }

    mutating func account(for exchanges: [Exchange]) throws {
        for exchange in exchanges {
            switch exchange.reply {
            case .refused?: tally.refused += 1
            case .success(let message, _)? where message["masterVersionUpdate"] != nil: tally.stale += 1
            default: break
            }
        }
        let contradictions = possibilities.account(for: exchanges)
        guard contradictions.isEmpty else { throw difference(contradictions) }
        tally.mostPossibilities = max(tally.mostPossibilities, possibilities.worlds.count)
        guard possibilities.worlds.count <= 64 else { throw difference(["too many possible states to continue"]) }
    }

    mutating func note(_ line: String) {
        journal.append("#\(step) \(line.prefix(600))")
        if settings.isVerbose { print(journal[journal.count - 1]) }
    }

    mutating func nextSerial() -> Int {
        serial += 1
        return serial
    }

    /// The error that reports a failed expectation.
    func difference(_ contradictions: [String]) -> Difference {
        Difference(seed: seed, step: step, contradictions: contradictions, journal: journal)
    }
}

extension Exchange {
    /// The exchange without its reply, as if the phone had never received it.
    var withoutReply: Exchange {
        Exchange(request, from: caller, serial: serial, reply: nil, excuses: excuses)
    }
}
