import Foundation
import SyncProtocol

/// One authorization request to the user in the browser, which recognises its answer (RFC 6749, section 4.1.1; RFC
/// 7636).
struct AuthorizationAttempt: Sendable {
    /// The answer that the browser returned.
    enum Answer: Sendable, Equatable {
        case code(String)
        /// The provider's error code (RFC 6749, section 4.1.2.1).
        case refusal(String)
    }

    let redirectURI: LoopbackRedirectURI
    let proof: ProofKey
    private let state: String
    /// The page to open in the browser.
    let url: URL

    init(
        _ client: OAuthClient, of scheme: AccountScheme, port: UInt16, proof: ProofKey = ProofKey(),
        state: String = RandomText.make(octets: 24)
    ) throws(SignInError) {
        guard
            let redirectURI = LoopbackRedirectURI(host: client.redirect.host, port: port, path: client.redirect.path)
        else { throw SignInError(.misconfigured, "redirect path \(client.redirect.path)") }
        var items = [
            ("client_id", client.clientID), ("redirect_uri", redirectURI.rawValue), ("response_type", "code"),
            ("state", state), ("code_challenge", proof.challenge), ("code_challenge_method", "S256"),
        ]
        if !client.scopes.isEmpty { items.append(("scope", client.scopes.joined(separator: " "))) }
        items += client.parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        guard let url = URL(string: scheme.authorizationEndpoint + "?" + FormText.encode(items)) else {
            throw SignInError(.misconfigured, "authorization endpoint")
        }
        (self.redirectURI, self.proof, self.state, self.url) = (redirectURI, proof, state, url)
    }

    /// Whether a request's path belongs to this attempt.
    func isAddressed(by target: RequestTarget) -> Bool { target.path == redirectURI.path }

    /// The answer in a request to the redirect URI; `nil` if it answers another request, or is not an answer.
    ///
    /// A request with a duplicate parameter is not an answer (RFC 6749, section 3.1).
    func answer(in target: RequestTarget) -> Answer? {
        guard isAddressed(by: target), let given = target.single("state"), isEqual(given, state) else { return nil }
        switch (target.single("code"), target.single("error")) {
        case (let code?, nil) where !code.isEmpty: return .code(code)
        case (nil, let error?): return .refusal(error)
        default: return nil
        }
    }

    /// Compares in constant time, so that timing does not reveal where two texts differ.
    private func isEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
