import HTTPTypes
public import SyncProtocol

/// A device's information about the identity above its user's account (docs/protocol.md, section 5.10).
public struct KnownIdentity: Sendable, Hashable {
    /// The number of account switches of the identity; nil if the server has not reported it yet, or does not support
    /// identities.
    public var accountEpoch: AccountEpoch?
    /// Proves that the device belongs to the identity, even when its account can no longer be used.
    public var deviceGrant: DeviceGrant?

    /// Creates a value.
    public init(accountEpoch: AccountEpoch? = nil, deviceGrant: DeviceGrant? = nil) {
        self.accountEpoch = accountEpoch
        self.deviceGrant = deviceGrant
    }

    /// Adds the headers that an endpoint reads.
    func add(to fields: inout HTTPFields, for endpoint: EndpointName) {
        switch endpoint {
        case .checkCreds, .addUser, .redeemSharingInvitation, .beginAccountSwitch, .undoAccountSwitch:
            fields[RequestHeader.deviceGrant.fieldName] = deviceGrant?.secret
        default:
            if endpoint == .revokeDeviceGrants { fields[RequestHeader.deviceGrant.fieldName] = deviceGrant?.secret }
            guard endpoint.route.authentication == .secondary else { return }
            fields[RequestHeader.accountEpoch.fieldName] = accountEpoch.map { String($0.rawValue) }
        }
    }
}
