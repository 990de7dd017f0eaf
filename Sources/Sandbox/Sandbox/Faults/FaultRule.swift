/// A fault injection rule for requests to the providers.
struct FaultRule: Sendable {
    /// The rule's number, shown to people.
    let number: Int
    /// Only this host, or one of these separated by commas; `nil` for any.
    let host: String?
    /// Only paths with this prefix; `nil` for any.
    let pathPrefix: String?
    /// Only this method; `nil` for any.
    let method: String?
    /// Only queries that contain this text; `nil` for any.
    let queryContains: String?
    /// The number of matching requests to skip first.
    var skip: Int
    /// The number of times to apply the rule; `nil` for unlimited.
    var times: Int?
    /// Apply with this probability, drawn from the generator.
    let probability: Double
    var generator: SeededGenerator
    /// How often the rule has been applied.
    var struck = 0
    /// The effect.
    let effect: FaultEffect

    /// Reads the rule from the control interface's JSON.
    /// - Throws: ``ControlError/badRequest(_:)`` naming the invalid member.
    init(number: Int, json: JSONValue) throws(ControlError) {
        guard let object = json.object else { throw .badRequest("a fault must be a JSON object") }
        for member in object.members where !Self.names.contains(member.name) {
            throw .badRequest("unknown member of a fault: \(member.name)")
        }
        self.number = number
        host = try Self.text(object, "host")?.lowercased()
        pathPrefix = try Self.text(object, "pathPrefix")
        method = try Self.text(object, "method")?.uppercased()
        queryContains = try Self.text(object, "queryContains")
        skip = try Self.count(object, "skip") ?? 0
        times = try Self.count(object, "times")
        switch object["probability"] {
        case nil, .null?: probability = 1
        case let value?:
            guard let number = value.double, (0...1).contains(number) else {
                throw .badRequest("probability must be a number from 0 to 1")
            }
            probability = number
        }
        generator = SeededGenerator(seed: UInt64(try Self.count(object, "seed") ?? 1))
        let isAfterEffect: Bool
        switch object["afterEffect"] {
        case nil, .null?: isAfterEffect = false
        case .bool(let value)?: isAfterEffect = value
        default: throw .badRequest("afterEffect must be true or false")
        }
        let status = try Self.count(object, "status")
        if let status, !(200...599).contains(status) { throw .badRequest("status must be 200 to 599") }
        let retryAfterSeconds = try Self.count(object, "retryAfter")
        effect = FaultEffect(
            status: status, retryAfter: retryAfterSeconds.map(String.init) ?? object["retryAfter"]?.string,
            latencyMilliseconds: try Self.count(object, "latencyMs") ?? 0,
            truncateAfterBytes: try Self.count(object, "truncateAfterBytes"),
            resetAfterBytes: try Self.count(object, "resetAfterBytes"), isAfterEffect: isAfterEffect,
            reason: try Self.text(object, "reason"), body: try Self.text(object, "body"),
            contentType: try Self.text(object, "contentType"), keepBytes: try Self.count(object, "keepBytes"),
            corruptAtByte: try Self.count(object, "corruptAtByte"))
        guard effect.doesSomething else {
            throw .badRequest(
                "a fault needs one of status, latencyMs, truncateAfterBytes, resetAfterBytes, afterEffect, keepBytes, corruptAtByte"
            )
        }
        requestJSON = json
    }

    private let requestJSON: JSONValue
    private static let names: Set<String> = [
        "host", "pathPrefix", "method", "queryContains", "status", "retryAfter", "times", "skip", "latencyMs",
        "truncateAfterBytes", "resetAfterBytes", "afterEffect", "probability", "seed", "reason", "body", "contentType",
        "keepBytes", "corruptAtByte",
    ]

    /// The rule in the control interface's JSON, with its number, how often it has been applied, and how often it will
    /// still apply.
    var json: JSONValue {
        var object = requestJSON.object ?? [:]
        object["number"] = .int(number)
        object["struck"] = .int(struck)
        object["remaining"] = times.map { .int($0) } ?? .null
        return .object(object)
    }

    /// Whether the rule has been applied as often as requested.
    var isSpent: Bool { times == 0 }

    /// Whether the rule applies to this request; counts matches.
    mutating func strikes(_ request: SandboxRequest) -> Bool {
        guard !isSpent, matches(request.host), method == nil || method == request.method,
            pathPrefix.map({ request.path.hasPrefix($0) }) ?? true,
            queryContains.map({ request.queryText.contains($0) }) ?? true
        else { return false }
        if skip > 0 {
            skip -= 1
            return false
        }
        guard probability >= 1 || generator.fraction() < probability else { return false }
        times = times.map { $0 - 1 }
        struck += 1
        return true
    }

    private func matches(_ requestHost: String) -> Bool {
        host.map { $0.split(separator: ",").contains { $0 == requestHost } } ?? true
    }

    private static func text(_ object: JSONObject, _ name: String) throws(ControlError) -> String? {
        switch object[name] {
        case nil, .null?: return nil
        case .string(let text)?: return text
        default: throw .badRequest("\(name) must be a string")
        }
    }

    private static func count(_ object: JSONObject, _ name: String) throws(ControlError) -> Int? {
        switch object[name] {
        case nil, .null?: return nil
        case let value?:
            if name == "retryAfter", value.string != nil { return nil }
            guard let number = value.int, number >= 0 else { throw .badRequest("\(name) must be an integer from 0") }
            return number
        }
    }
}

/// The effect of a fault on a request; several effects of one or more rules are combined.
struct FaultEffect: Sendable, Equatable {
    /// Respond with this status instead.
    var status: Int?
    /// Send this `Retry-After`: seconds or an HTTP date.
    var retryAfter: String?
    /// Wait this long first; with ``isAfterEffect``, wait before the response.
    var latencyMilliseconds = 0
    /// Send only this many bytes of the response's body.
    var truncateAfterBytes: Int?
    /// Close the connection without a response after this many bytes of the request's body.
    var resetAfterBytes: Int?
    /// Process the request first; without a status or reset, the response is lost.
    var isAfterEffect = false
    /// The provider's own reason for the status, e.g. `userRateLimitExceeded`.
    var reason: String?
    /// The response's body instead of the provider's format.
    var body: String?
    /// The media type of ``body``.
    var contentType: String?
    /// Store only this many bytes of a chunk, rounded down to the provider's granularity.
    var keepBytes: Int?
    /// Flip a bit of this byte: in the request's body if it has one, otherwise in the response's.
    var corruptAtByte: Int?

    /// Whether the effect changes anything.
    var doesSomething: Bool { self != FaultEffect() && (latencyMilliseconds > 0 || withoutLatency) }

    private var withoutLatency: Bool {
        status != nil || truncateAfterBytes != nil || resetAfterBytes != nil || isAfterEffect || keepBytes != nil
            || corruptAtByte != nil
    }

    /// Both effects; where they conflict, this one takes precedence.
    func adding(_ other: FaultEffect) -> FaultEffect {
        FaultEffect(
            status: status ?? other.status, retryAfter: retryAfter ?? other.retryAfter,
            latencyMilliseconds: latencyMilliseconds + other.latencyMilliseconds,
            truncateAfterBytes: truncateAfterBytes ?? other.truncateAfterBytes,
            resetAfterBytes: resetAfterBytes ?? other.resetAfterBytes,
            isAfterEffect: isAfterEffect || other.isAfterEffect, reason: reason ?? other.reason,
            body: body ?? other.body, contentType: contentType ?? other.contentType,
            keepBytes: keepBytes ?? other.keepBytes, corruptAtByte: corruptAtByte ?? other.corruptAtByte)
    }
}

/// Pseudo-random numbers that are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator that starts at `seed`.
    init(seed: UInt64) { state = seed }

    /// The next 64 bits.
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// A number in the range 0 ..< 1.
    mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
