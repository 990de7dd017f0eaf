/// Tells the server, from Apple, that a person has withdrawn their consent or deleted their account there.
///
/// The body is JSON with the text `payload`, a token that Apple has signed; there are no parameters.
public struct AppleNotificationsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = AnyoneAccess
    public static let endpoint = EndpointName.appleNotifications
    public static let parameters = ParameterList()

    /// A request has no parameters.
    public init() {}

    public init(_ query: DecodedQuery) throws(RequestError) {}

    public func encode(to encoder: inout QueryEncoder) {}
}
