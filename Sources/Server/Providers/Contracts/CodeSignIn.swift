/// The result of a sign-in with only an authorization code of the server's own client: the tokens obtained, and the
/// credentials that a phone with these tokens would present.
public struct CodeSignIn: Sendable {
    public var presented: PresentedCredentials
    /// The tokens that the server keeps.
    public var stored: StoredCredentials

    init(presented: PresentedCredentials, tokens: OAuthTokens) {
        self.presented = presented
        stored = StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }
}
