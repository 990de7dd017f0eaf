/// A provider that the sandbox stands in for.
public enum SandboxProvider: String, Sendable {
    case google
    case facebook
    case dropbox
    case microsoft
    case apple
}

/// One person's account at an emulated provider.
public struct SandboxAccount: Sendable {
    /// The sandbox's name for it.
    public let id: String
    /// Where it is.
    public let provider: SandboxProvider
    /// The display name.
    public let name: String
    /// What a signed-in client sends with each request, the device UUID excepted.
    public var headers: [(name: String, value: String)]
    /// The device's token.
    public let accessToken: String

    init?(_ json: JSONValue) {
        guard let id = json.id?.text, let provider = json.provider?.text.flatMap(SandboxProvider.init(rawValue:)),
            let name = json.name?.text, case .object(let headers) = json.headers,
            let accessToken = json.accessToken?.text
        else { return nil }
        self.id = id
        self.provider = provider
        self.name = name
        self.headers = headers.compactMap { name, value in value.text.map { (name, $0) } }.sorted { $0.0 < $1.0 }
        self.accessToken = accessToken
    }

    /// The value of one of the headers, whatever its letter case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The same account with one header replaced, or left out if `value` is nil.
    public func replacing(header name: String, with value: String?) -> SandboxAccount {
        var copy = self
        copy.headers.removeAll { $0.name.lowercased() == name.lowercased() }
        if let value { copy.headers.append((name, value)) }
        return copy
    }
}

/// A file in a user's own storage, as its owner sees it.
public struct StoredFile: Sendable {
    /// The file's name.
    public let name: String
    /// The name of the folder that it lies in.
    public let folder: String
    /// Its length in bytes.
    public let size: Int
    /// The provider's own checksum.
    public let checkSum: String

    init?(_ json: JSONValue) {
        guard let name = json.name?.text, let size = json.size?.integer else { return nil }
        self.name = name
        self.folder = json.folder?.text ?? ""
        self.size = Int(size)
        self.checkSum = json.checkSum?.text ?? ""
    }
}

/// Something that goes wrong at a provider from now on, `times` times or until the faults are cleared.
public struct SandboxFault: Sendable {
    /// The provider's host name.
    public var host: String
    /// Only requests whose path begins so.
    public var pathPrefix: String?
    /// Only requests of this method.
    public var method: String?
    /// The status of the reply; nil leaves it alone.
    public var status: Int?
    /// Seconds in the reply's `Retry-After`.
    public var retryAfter: Int?
    /// How often it happens; nil means always.
    public var times: Int?
    /// How many matching requests are spared first.
    public var skip: Int?
    /// A delay before the reply.
    public var latencyMilliseconds: Int?
    /// Bytes of the reply's body after which it ends.
    public var truncateAfterBytes: Int?
    /// Bytes of the request's body after which the connection is cut without a reply.
    public var resetAfterBytes: Int?
    /// Do the work, and fail only the reply.
    public var afterEffect: Bool?

    /// A fault of that host; the rest is set one by one.
    public init(host: String = "www.googleapis.com", pathPrefix: String? = nil, method: String? = nil) {
        self.host = host
        self.pathPrefix = pathPrefix
        self.method = method
    }

    var json: [String: Any] {
        let members: [String: Any?] = [
            "host": host, "pathPrefix": pathPrefix, "method": method, "status": status, "retryAfter": retryAfter,
            "times": times, "skip": skip, "latencyMs": latencyMilliseconds,
            "truncateAfterBytes": truncateAfterBytes, "resetAfterBytes": resetAfterBytes, "afterEffect": afterEffect,
        ]
        return members.compactMapValues { $0 }
    }
}
