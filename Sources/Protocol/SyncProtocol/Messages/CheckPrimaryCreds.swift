/// Asks whether a third-party token is valid; debug builds only.
public struct CheckPrimaryCredsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = SignedInAccess
    public static let endpoint = EndpointName.checkPrimaryCreds
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
}
