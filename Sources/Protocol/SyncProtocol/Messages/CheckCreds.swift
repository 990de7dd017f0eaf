/// Asks who the caller is: the way to sign in an existing user.
public struct CheckCredsRequest: RequestMessage {
    public typealias Response = UserIDResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.checkCreds
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
}
