/// The request of one endpoint: the contents of its query.
public protocol RequestMessage: Sendable, Hashable {
    /// The response if the request succeeds.
    associatedtype Response: ResponseMessage

    /// The access required to send it.
    associatedtype Access: EndpointAccess

    /// The endpoint that accepts this request.
    static var endpoint: EndpointName { get }

    /// All parameters that the endpoint knows, with the properties that hold their values.
    static var fields: QueryFields<Self> { get }
}

extension RequestMessage {
    /// All parameters that the endpoint knows.
    public static var parameters: ParameterList { fields.parameters }

    /// Interprets the parameters.
    /// - Throws: Every case of ``RequestError`` that concerns single parameters.
    public init(_ query: DecodedQuery) throws(RequestError) { self = try Self.fields.decode(query) }

    /// Decodes the raw query, without its `?`.
    /// - Throws: Any ``RequestError``.
    public init(query: [UInt8]) throws(RequestError) {
        try self.init(try QueryDecoder.decode(query, parameters: Self.parameters))
    }

    /// Decodes the raw query, without its `?`.
    /// - Throws: Any ``RequestError``.
    public init(query: some StringProtocol) throws(RequestError) {
        try self.init(try QueryDecoder.decode(query, parameters: Self.parameters))
    }

    /// The query as a deployed client sends it, without a `?`; empty if there are no parameters.
    public var encodedQuery: String { encodedQuery(.deployedClients) }

    /// The query in one of its forms, without a `?`; empty if there are no parameters.
    public func encodedQuery(_ form: PercentEncoding.Form) -> String {
        var encoder = QueryEncoder(form: form)
        Self.fields.encode(self, &encoder)
        return encoder.query
    }
}

/// The response of one endpoint if the request succeeds: one JSON object.
///
/// Servers write it, clients decode it; tests cover both sides together.
public protocol ResponseMessage: Sendable, Hashable, Decodable {
    /// Writes the object.
    func write(to writer: inout JSONWriter)
    /// Whether the response means that the client's master version is stale, and that nothing was done.
    var isStale: Bool { get }
}

extension ResponseMessage {
    /// Most responses do not depend on a master version.
    public var isStale: Bool { false }

    /// The object as UTF-8, for a body.
    public var body: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// The object as a single line of ASCII, for the header `syncserver-message-params`.
    public var headerText: String {
        var writer = JSONWriter(form: .asciiOnly)
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

/// The response of an endpoint without results: `{}`.
public struct EmptyResponse: ResponseMessage {
    /// Creates the response.
    public init() {}

    /// Writes `{}`; clients would treat an empty body as a failure.
    public func write(to writer: inout JSONWriter) {
        writer.object { _ in }
    }
}

/// The response of an endpoint that checks the master version and has no other results.
public enum MasterVersionCheckedResponse: ResponseMessage {
    /// The request was carried out.
    case accepted
    /// The client's master version is stale. Nothing was done; the client reads the index and retries.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of a stale master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case masterVersionUpdate
    }

    /// Decodes a reply; any `masterVersionUpdate` means stale.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self =
            try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate)
            .map { .stale(current: $0) } ?? .accepted
    }

    /// Writes `{}` or `{"masterVersionUpdate":…}`.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .accepted: break
            case .stale(let current): writer.field("masterVersionUpdate", current)
            }
        }
    }
}

/// Maximum lengths of free texts, in Unicode scalars, which is how the database counts the characters of a column.
public enum TextLimit {
    /// A sharing group's name.
    public static let sharingGroupName = 255
    /// The name of the folder in a user's cloud storage.
    public static let cloudFolderName = 256
    /// A device's token at its push service; the services' actual tokens have less than a tenth of it.
    public static let pushNotificationToken = 4_096
}

/// A number in a reply, possibly sent as text: older servers were inconsistent, and clients accept both.
struct LenientNumber<Value: LosslessStringConvertible & Decodable & Sendable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = Value(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a number")
            }
            self.value = value
        } else {
            value = try container.decode(Value.self)
        }
    }
}

/// A word of a closed set in a reply; nil if this version does not know it, so that a new word does not prevent the
/// rest of the reply from being decoded.
struct LenientWord<Word: RawRepresentable & Sendable>: Decodable where Word.RawValue == String {
    let word: Word?

    init(from decoder: any Decoder) throws {
        word = Word(rawValue: try decoder.singleValueContainer().decode(String.self))
    }
}

extension KeyedDecodingContainer {
    /// A required number, as a number or as text.
    func number<Value: LosslessStringConvertible & Decodable & Sendable>(
        _ key: Key, as type: Value.Type = Value.self
    ) throws -> Value {
        try decode(LenientNumber<Value>.self, forKey: key).value
    }

    /// A number that may be absent or null, as a number or as text.
    func optionalNumber<Value: LosslessStringConvertible & Decodable & Sendable>(
        _ key: Key, as type: Value.Type = Value.self
    ) throws -> Value? {
        try decodeIfPresent(LenientNumber<Value>.self, forKey: key)?.value
    }

    /// A word of a closed set; nil if it is absent, null, or not one of the set.
    func knownWord<Word: RawRepresentable & Sendable>(
        _ key: Key, as type: Word.Type = Word.self
    ) throws -> Word? where Word.RawValue == String {
        try decodeIfPresent(LenientWord<Word>.self, forKey: key)?.word
    }
}
