import FoundationEssentials
public import OpenSSLCrypto

/// What one role passes to another, through the web server, about a sign-in that it has just checked: the provider is
/// then asked only once for a request that passes both.
///
/// A ticket is sealed with the server's key and bound to the credentials that were presented; whoever takes the web
/// server's place between the roles can neither forge one nor use it for other credentials. It is valid for a short
/// time. Whoever opens it may remember the sign-in, but no longer than the issuer relies on it without asking the provider
/// again: a sign-in must not last longer because it is passed on.
public struct SignInTickets: Sendable {
    /// What a ticket says.
    public struct Contents: Equatable, Sendable {
        public let profile: SignInProfile
        /// For how long the sign-in may be remembered; zero if not at all.
        public let settledTime: Duration

        public init(profile: SignInProfile, settledTime: Duration) {
            self.profile = profile
            self.settledTime = settledTime
        }
    }

    /// What is sealed.
    private struct Sealed: Codable {
        var issued: Int64
        var settledSeconds: Int64
        var providerUserID: String
        var displayName: String
    }

    /// How long a ticket is valid, in seconds; the clocks of two hosts may differ by a fraction of it.
    private static let lifetimeSeconds: Int64 = 120

    private let keys: KeyRing

    public init(keys: KeyRing) {
        self.keys = keys
    }

    /// A ticket in ASCII; `nil` where a sign-in is proved by a token that every role can verify by itself (Apple).
    /// - Parameters:
    ///   - settledTime: for how long the sign-in need not be checked again; `nil` if that is not known.
    ///   - now: in seconds since 1970.
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

    /// Who presented the credentials, if the ticket is one of ours for exactly these credentials, and not too old.
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
