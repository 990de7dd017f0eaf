/// The identity above a user's account, as replies report it to clients that ask for it.
///
/// A person who switches accounts stays the same identity: files, groups and the numeric user id stay, and the epoch rises.
public struct AccountIdentity: Sendable, Hashable, Decodable {
    /// The identity; never changes.
    public let userAppId: UserAppID
    /// How often it has switched accounts.
    public let accountEpoch: AccountEpoch
    /// A new grant for the calling device; nil if the request showed one that is valid.
    public let deviceGrant: DeviceGrant?

    /// Creates the description of an identity.
    public init(userAppId: UserAppID, accountEpoch: AccountEpoch, deviceGrant: DeviceGrant?) {
        self.userAppId = userAppId
        self.accountEpoch = accountEpoch
        self.deviceGrant = deviceGrant
    }

    private enum CodingKeys: String, CodingKey {
        case userAppId, accountEpoch, deviceGrant
    }

    /// Decodes the members from a reply; nil if it has none, as from a server that does not know them.
    init?(inReply decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard container.contains(.userAppId) else { return nil }
        try self.init(from: decoder)
    }

    /// Writes the members into the object of a reply.
    func writeMembers(to writer: inout JSONWriter) {
        writer.field("userAppId", userAppId)
        writer.field("accountEpoch", accountEpoch)
        writer.field("deviceGrant", text: deviceGrant?.secret)
    }
}

/// Revokes device grants of the caller's identity: those of a device that was lost, or of all devices but the calling one.
public struct RevokeDeviceGrantsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.revokeDeviceGrants
    public static let parameters = ParameterList(optional: [.grantDeviceUUID])

    /// The device; nil for all but the calling one.
    public let grantDeviceUUID: DeviceUUID?

    /// Creates a request.
    public init(grantDeviceUUID: DeviceUUID? = nil) {
        self.grantDeviceUUID = grantDeviceUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        grantDeviceUUID = try query.optional(.grantDeviceUUID)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.grantDeviceUUID, grantDeviceUUID)
    }
}
