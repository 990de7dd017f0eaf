/// The answer of one endpoint in case of success: one JSON object.
///
/// Servers write it, clients decode it; both sides meet in the tests.
public protocol ResponseMessage: Sendable, Hashable, Decodable {
    /// Writes the object.
    func write(to writer: inout JSONWriter)
    /// Whether it says that the client's master version is not the group's, and that nothing was done.
    var isStale: Bool { get }
}

extension ResponseMessage {
    /// Most answers do not depend on a master version.
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

/// The answer of an endpoint that has nothing to say: `{}`.
public struct EmptyResponse: ResponseMessage {
    /// The only answer there is.
    public init() {}

    /// Writes `{}`; an empty body would be a failure to clients.
    public func write(to writer: inout JSONWriter) {
        writer.object { _ in }
    }
}
