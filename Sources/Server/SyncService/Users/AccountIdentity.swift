import OpenSSLCrypto
import Providers
import Store
import SyncProtocol

/// The report, for clients that request it, on the identity above the account: the part that remains when the account
/// is switched.
///
/// A device without a valid grant gets one. A request repeated after a lost reply gets another one; the lost grant is
/// never used, and eventually gives way to newer ones.
struct IdentityReport {
    private static let grantBytes = 32
    /// The maximum number of grants announced per hour; otherwise somebody with a token could trigger notifications all
    /// day.
    private static let maximumAnnouncements = 5
    /// The maximum number of younger grants in a reply.
    private static let maximumNewerGrants = 20

    private let device: DeviceUUID
    private let isWanted: Bool
    private let context: RequestContext

    init(to caller: SignedInPerson, isWanted: Bool, _ context: RequestContext) {
        device = caller.device
        self.isWanted = isWanted
        self.context = context
    }

    /// - Parameter isProved: whether the request proves, by more than an access token, that the caller has the account;
    ///   a new grant can then begin a switch at once.
    /// - Returns: `nil` if the client did not request it.
    /// - Throws: ``ErrorCode/userUnknown`` if the user was removed in the meantime; ``StoreError``.
    func make(about userID: UserID, isProved: Bool = false) throws -> AccountIdentity? {
        guard isWanted else { return nil }
        guard let fresh = UserAppID(try context.services.makeUUID()),
            let grant = DeviceGrant(try RandomBytes.generate(count: Self.grantBytes).hexLowercase)
        else { preconditionFailure("random bytes must form identifiers") }
        return try context.store.transaction { session in
            guard let identity = try session.identity(of: userID, orElse: fresh) else {
                throw Refusal(.userUnknown)
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
                throw Refusal(.userUnknown)
            }
            return AccountIdentity(userAppId: identity.id, accountEpoch: identity.epoch, deviceGrant: grant)
        }
    }

    /// Notifies the identity's devices of a device that gets a grant. The device itself is also notified if it already
    /// has one, since somebody else may have learned its UUID.
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
    /// The grant that the device presents; `nil` if it is missing or malformed.
    var presentedGrant: DeviceGrant? { head.header(.deviceGrant).flatMap { DeviceGrant($0) } }
}

extension DeviceGrant {
    /// The hash that the database stores: a plain hash of 256 random bits reveals nothing.
    var hash: [UInt8] { IncrementalDigest.digest(of: Array(secret.utf8), .sha256) }
}

/// Revokes device grants of the caller, which can then no longer begin an account switch.
///
/// An access token alone revokes nothing; otherwise a stolen token could lock out the identity's devices. The grant in
/// the request revokes itself and younger ones; a new authorization code of the account, or its password, revokes any.
/// May be repeated. A device that still signs in gets a new grant on request.
struct RevokeDeviceGrantsEndpoint: Endpoint {
    func respond(
        to request: RevokeDeviceGrantsRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        let isProved = try isProved(request, caller, context)
        let (revoked, kept) = try context.store.transaction { session in
            var word: [UInt8]?
            if !isProved {
                guard let grant = context.presentedGrant,
                    try session.useGrant(
                        grant.hash, of: caller.device, caller.userID,
                        signingInAt: context.services.settings.switches.minimumGrantAge, at: context.now)
                else { throw Refusal(.grantInvalid) }
                word = grant.hash
            }
            return try session.revokeGrants(
                of: caller.userID, onDevice: request.grantDeviceUUID, exceptOn: caller.device, onTheWordOf: word,
                at: context.now)
        }
        return .json(RevokeDeviceGrantsResponse(numberRevoked: Int64(revoked), numberKept: Int64(kept)))
    }

    /// A code used for another purpose proves nothing, but does not invalidate what the grant permits.
    private func isProved(
        _ request: RevokeDeviceGrantsRequest, _ caller: SignedInUser, _ context: RequestContext
    ) throws -> Bool {
        let purpose = "RevokeDeviceGrants of \(request.grantDeviceUUID?.rawValue ?? "others than \(caller.device)")"
        do {
            return try CredentialExchange(caller.person, context).provedCredentials(for: purpose) != nil
        } catch AccountError.codeRejected {
            return false
        }
    }
}

extension RevokeDeviceGrantsRequest: ServedRequest {
    typealias Handler = RevokeDeviceGrantsEndpoint
}
