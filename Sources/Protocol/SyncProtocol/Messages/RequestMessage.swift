/// The request of one endpoint: what travels in its query.
public protocol RequestMessage: Sendable, Hashable {
    /// The answer in case of success.
    associatedtype Response: ResponseMessage

    /// Who may send it.
    associatedtype Access: EndpointAccess

    /// The endpoint that takes this request.
    static var endpoint: EndpointName { get }

    /// All parameters that the endpoint knows.
    static var parameters: ParameterList { get }

    /// Interprets the parameters.
    /// - Throws: Every case of ``RequestError`` that concerns single parameters.
    init(_ query: DecodedQuery) throws(RequestError)

    /// Hands the parameters to a client's encoder.
    func encode(to encoder: inout QueryEncoder)
}

extension RequestMessage {
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
    public func encodedQuery(_ form: QueryEncoder.Form) -> String {
        var encoder = QueryEncoder(form: form)
        encode(to: &encoder)
        return encoder.query
    }
}
