/// A sign-in with nothing but an authorization code of the server's own client: the tokens that it brought, and what a
/// phone would present that has the same tokens.
public struct CodeSignIn: Sendable {
    public var presented: PresentedCredentials
    /// What the server keeps.
    public var stored: StoredCredentials

    init(presented: PresentedCredentials, tokens: OAuthTokens) {
        self.presented = presented
        stored = StoredCredentials(accessToken: tokens.accessToken, refreshToken: tokens.refreshToken)
    }
}
