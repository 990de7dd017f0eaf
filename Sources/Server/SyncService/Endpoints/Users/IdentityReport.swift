import OpenSSLCrypto
import Store
import SyncProtocol

/// What a client that asks for it learns of the identity above its account: what remains when the account is switched.
///
/// A device that shows no valid grant gets one. A request that is repeated because its reply was lost gets another one: the
/// lost one is never used, and gives way in the end.
struct IdentityReport {
    private static let grantBytes = 32

    private let device: DeviceUUID
    private let isWanted: Bool
    private let context: RequestContext

    init(to caller: SignedInPerson, isWanted: Bool, _ context: RequestContext) {
        device = caller.device
        self.isWanted = isWanted
        self.context = context
    }

    /// - Returns: `nil` if the client does not ask for it.
    /// - Throws: ``EndpointError/userUnknown`` if the user was removed in the meantime; ``StoreError``.
    func make(about userID: UserID) throws -> AccountIdentity? {
        guard isWanted else { return nil }
        guard let fresh = UserAppID(try context.services.makeUUID()),
            let grant = DeviceGrant(try RandomBytes.generate(count: Self.grantBytes).hexLowercase)
        else { preconditionFailure("random bytes make identifiers") }
        return try context.store.transaction { session in
            guard let identity = try session.identity(of: userID, orElse: fresh) else {
                throw EndpointError.userUnknown
            }
            let hasGrant = try context.presentedGrant.map { presented in
                try session.useGrant(presented.hash, of: device, userID, at: context.now)
            }
            if hasGrant == true {
                return AccountIdentity(userAppId: identity.id, accountEpoch: identity.epoch, deviceGrant: nil)
            }
            guard try session.addGrant(grant.hash, of: device, userID, at: context.now) else {
                throw EndpointError.userUnknown
            }
            return AccountIdentity(userAppId: identity.id, accountEpoch: identity.epoch, deviceGrant: grant)
        }
    }
}

extension RequestContext {
    /// The grant that the device shows; `nil` if there is none, or it has not the form of one.
    var presentedGrant: DeviceGrant? { head.header(.deviceGrant).flatMap { DeviceGrant($0) } }
}

extension DeviceGrant {
    /// As the database stores it: of 256 random bits a plain hash reveals nothing.
    var hash: [UInt8] { IncrementalDigest.digest(of: Array(secret.utf8), .sha256) }
}
