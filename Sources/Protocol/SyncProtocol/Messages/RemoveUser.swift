/// Removes the caller from the server. Files in the caller's cloud storage stay.
public struct RemoveUserRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.removeUser
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
}
