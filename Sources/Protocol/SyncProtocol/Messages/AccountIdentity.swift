/// The identity above a user's account, as replies report it to clients that request it.
///
/// A person who switches accounts keeps their identity, with its files, groups and numeric user id; the epoch
/// increases.
public struct AccountIdentity: Sendable, Hashable, Decodable {
    /// The identity; never changes.
    public let userAppId: UserAppID
    /// The number of its account switches.
    public let accountEpoch: AccountEpoch
    /// A new grant for the calling device; nil if the request presented a valid one.
    public let deviceGrant: DeviceGrant?
    /// Grants issued recently, after the one that the request presented, the newest first: to other devices, or to
    /// somebody who knows this device's UUID. Empty if the request presented none.
    public let newerGrants: [NewerGrant]

    /// A recently issued grant.
    public struct NewerGrant: Sendable, Hashable, Decodable {
        /// The device that requested it.
        public let grantDeviceUUID: DeviceUUID
        /// When it was issued.
        public let issuedAt: WireDate
        /// The time after which a sign-in of its device lets it begin a switch; nil if it already can.
        public let usableFrom: WireDate?

        /// Creates a description.
        public init(grantDeviceUUID: DeviceUUID, issuedAt: WireDate, usableFrom: WireDate?) {
            self.grantDeviceUUID = grantDeviceUUID
            self.issuedAt = issuedAt
            self.usableFrom = usableFrom
        }
    }

    /// Creates the description of an identity.
    public init(
        userAppId: UserAppID, accountEpoch: AccountEpoch, deviceGrant: DeviceGrant?, newerGrants: [NewerGrant] = []
    ) {
        self.userAppId = userAppId
        self.accountEpoch = accountEpoch
        self.deviceGrant = deviceGrant
        self.newerGrants = newerGrants
    }

    private enum CodingKeys: String, CodingKey {
        case userAppId, accountEpoch, deviceGrant, newerGrants
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        userAppId = try container.decode(UserAppID.self, forKey: .userAppId)
        accountEpoch = try container.decode(AccountEpoch.self, forKey: .accountEpoch)
        deviceGrant = try container.decodeIfPresent(DeviceGrant.self, forKey: .deviceGrant)
        newerGrants = try container.decodeIfPresent([NewerGrant].self, forKey: .newerGrants) ?? []
    }

    /// Decodes the members from a reply; nil if they are missing, as from a server that does not know them.
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
        guard !newerGrants.isEmpty else { return }
        writer.key("newerGrants")
        writer.array { writer in
            for grant in newerGrants {
                writer.object { writer in
                    writer.field("grantDeviceUUID", grant.grantDeviceUUID)
                    writer.field("issuedAt", grant.issuedAt)
                    writer.field("usableFrom", grant.usableFrom)
                }
            }
        }
    }
}

/// The number of grants that a request has revoked.
public struct RevokeDeviceGrantsResponse: ResponseMessage {
    /// The number of revoked grants.
    public let numberRevoked: Int64
    /// The number of named grants that stay because they are older than the one that the request presented.
    public let numberKept: Int64

    /// Creates a response.
    public init(numberRevoked: Int64, numberKept: Int64) {
        self.numberRevoked = numberRevoked
        self.numberKept = numberKept
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("numberRevoked", numberRevoked)
            writer.field("numberKept", numberKept)
        }
    }
}

/// Revokes device grants of the caller's identity: those of a lost device, or of all devices except the calling one.
///
/// The request presents the grant of its own device, which can revoke only younger ones, or a new authorization code.
public struct RevokeDeviceGrantsRequest: RequestMessage {
    public typealias Response = RevokeDeviceGrantsResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.revokeDeviceGrants
    public static let parameters = ParameterList(optional: [.grantDeviceUUID])

    /// The device; nil for all except the calling one.
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
