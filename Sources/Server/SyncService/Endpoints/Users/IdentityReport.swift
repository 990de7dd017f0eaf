import OpenSSLCrypto
import Store
import SyncProtocol

/// What a client that asks for it learns of the identity above its account: what remains when the account is switched.
///
/// A device that shows no valid grant gets one. A request that is repeated because its reply was lost gets another one: the
/// lost one is never used, and gives way in the end.
struct IdentityReport {
    private static let grantBytes = 32
    /// Grants that are announced within an hour: whoever has a token could have devices notified all day.
    private static let maximumAnnouncements = 5
    /// Younger grants that a reply lists.
    private static let maximumNewerGrants = 20

    private let device: DeviceUUID
    private let isWanted: Bool
    private let context: RequestContext

    init(to caller: SignedInPerson, isWanted: Bool, _ context: RequestContext) {
        device = caller.device
        self.isWanted = isWanted
        self.context = context
    }

    /// - Parameter isProved: whether the request proves by more than an access token that the caller has the account: then a
    ///   new grant can begin a switch at once.
    /// - Returns: `nil` if the client does not ask for it.
    /// - Throws: ``EndpointError/userUnknown`` if the user was removed in the meantime; ``StoreError``.
    func make(about userID: UserID, isProved: Bool = false) throws -> AccountIdentity? {
        guard isWanted else { return nil }
        guard let fresh = UserAppID(try context.services.makeUUID()),
            let grant = DeviceGrant(try RandomBytes.generate(count: Self.grantBytes).hexLowercase)
        else { preconditionFailure("random bytes make identifiers") }
        return try context.store.transaction { session in
            guard let identity = try session.identity(of: userID, orElse: fresh) else {
                throw EndpointError.userUnknown
            }
            if let presented = context.presentedGrant,
                try session.useGrant(
                    presented.hash, of: device, userID, signingInAt: context.services.settings.switches.minimumGrantAge,
                    at: context.now)
            {
                return AccountIdentity(
                    userAppId: identity.id, accountEpoch: identity.epoch, deviceGrant: nil,
                    newerGrants: try newerGrants(than: presented, of: userID, &session))
            }
            try announce(to: userID, &session)
            guard try session.addGrant(grant.hash, of: device, userID, isProved: isProved, at: context.now) else {
                throw EndpointError.userUnknown
            }
            return AccountIdentity(userAppId: identity.id, accountEpoch: identity.epoch, deviceGrant: grant)
        }
    }

    /// Tells the identity's devices of a device that gets a grant. The device itself is told as well if it has one: somebody
    /// else may have found out its UUID.
    private func announce(to userID: UserID, _ session: inout StoreSession) throws {
        let isHere = try session.hasGrant(userID, on: device, elsewhere: false)
        guard try isHere || session.hasGrant(userID, on: device, elsewhere: true) else { return }
        let hourAgo = WireDate(secondsSince1970: context.now.secondsSince1970 - 3_600)
        guard try session.grantCount(of: userID, since: hourAgo) <= Self.maximumAnnouncements else { return }
        try session.addPush(
            SwitchNotice.newDevice, toDevicesOf: userID, except: isHere ? nil : device, at: context.now)
    }

    private func newerGrants(
        than presented: DeviceGrant, of userID: UserID, _ session: inout StoreSession
    ) throws -> [AccountIdentity.NewerGrant] {
        let times = context.services.settings.switches
        return try session.grants(
            of: userID, youngerThan: presented.hash, since: times.undoStart(at: context.now),
            minimumAge: times.minimumGrantAge, limit: Self.maximumNewerGrants
        ).map { recent in
            let usableFrom: WireDate? = if case .young(let time) = recent.standing { time } else { nil }
            return AccountIdentity.NewerGrant(
                grantDeviceUUID: recent.device, issuedAt: recent.createdAt, usableFrom: usableFrom)
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
