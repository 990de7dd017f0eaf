import FoundationEssentials
public import OpenSSLCrypto

/// Passes a sign-in that one role has just checked to another role, through the web server, so that a request that
/// passes through both asks the provider only once.
///
/// A ticket is sealed with the server's key and bound to the presented credentials; an attacker in place of the web
/// server between the roles can neither forge a ticket nor use it for other credentials. It is valid for a short time.
/// Its receiver may cache the sign-in, but no longer than the issuer relies on it without asking the provider again:
/// passing a sign-in on must not make it last longer.
public struct SignInTickets: Sendable {
    /// The contents of a ticket.
    public struct Contents: Equatable, Sendable {
        public let profile: SignInProfile
        /// How long the sign-in may be cached; zero to not cache it.
        public let settledTime: Duration

        public init(profile: SignInProfile, settledTime: Duration) {
            self.profile = profile
            self.settledTime = settledTime
        }
    }

    /// The sealed data.
    private struct Sealed: Codable {
        var issued: Int64
        var settledSeconds: Int64
        var providerUserID: String
        var displayName: String
    }

    /// How long a ticket is valid, in seconds; the clocks of two hosts may differ by a fraction of this.
    private static let lifetimeSeconds: Int64 = 120

    private let keys: KeyRing

    public init(keys: KeyRing) {
        self.keys = keys
    }

    /// Issues a ticket in ASCII; `nil` if the sign-in is proved by a token that every role can verify by itself
    /// (Apple).
    /// - Parameters:
    ///   - settledTime: how long the sign-in need not be checked again; `nil` if that is unknown.
    ///   - now: the time in seconds since 1970.
    public func issue(
        _ profile: SignInProfile, for presented: PresentedCredentials, settledTime: Duration?, at now: Int64
    ) -> String? {
        guard profile.identityToken == nil else { return nil }
        let settledSeconds = settledTime?.components.seconds ?? 0
        let contents = Sealed(
            issued: now, settledSeconds: settledSeconds, providerUserID: profile.providerUserID,
            displayName: profile.displayName)
        guard let encoded = try? JSONEncoder().encode(contents) else { return nil }
        let sealed = try? SealedBox.seal(
            [UInt8](encoded), key: keys.current, additionalData: Self.additionalData(presented))
        return sealed?.base64URL
    }

    /// The person who presented the credentials, if the ticket is ours, was issued for exactly these credentials, and
    /// is not too old.
    public func contents(of ticket: String, for presented: PresentedCredentials, at now: Int64) -> Contents? {
        guard let sealed = [UInt8](base64URL: ticket),
            let opened = try? SealedBox.open(sealed, keys: keys, additionalData: Self.additionalData(presented)),
            let contents = try? JSONDecoder().decode(Sealed.self, from: Data(opened)),
            abs(now - contents.issued) <= Self.lifetimeSeconds
        else { return nil }
        return Contents(
            profile: SignInProfile(providerUserID: contents.providerUserID, displayName: contents.displayName),
            settledTime: .seconds(max(0, contents.settledSeconds - abs(now - contents.issued))))
    }

    private static func additionalData(_ presented: PresentedCredentials) -> [UInt8] {
        Array("sign-in ticket, third form:".utf8)
            + IncrementalDigest.digest(of: Array(presented.identifyingText.utf8), .sha256)
    }
}
