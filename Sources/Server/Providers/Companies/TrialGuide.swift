import HTTPTransport

/// How the operator obtains the credentials of a test account for `syncctl try`.
public struct TrialGuide: Sendable {
    /// A question to the operator.
    public struct Question: Sendable {
        /// The kind of answer, named as in a file of credentials.
        public enum Answer: Sendable, Equatable {
            case accessToken, authorizationCode
            /// A member of ``PresentedCredentials/accountDetails``.
            case detail(String)
        }

        public let answer: Answer
        public let text: String
        /// Whether the answer is a secret, which is not shown.
        public var isSecret: Bool { if case .detail = answer { false } else { true } }
        /// Whether the answer may be empty.
        public let isOptional: Bool

        init(_ answer: Answer, _ text: String, isOptional: Bool = false) {
            self.answer = answer
            self.text = text
            self.isOptional = isOptional
        }
    }

    /// A page on which the person grants the server access to their storage; it returns an authorization code (RFC
    /// 6749, section 4.1.1).
    public struct ConsentPage: Sendable {
        let address: String
        let clientID: Setting
        let scopes: [String]
        let parameters: [(name: String, value: String)]
        /// Whether the page displays the code itself if the request has no redirect URI.
        public let showsCode: Bool

        init(
            _ address: String, clientID: Setting, scopes: [String], parameters: [(name: String, value: String)] = [],
            showsCode: Bool = false
        ) {
            self.address = address
            self.clientID = clientID
            self.scopes = scopes
            self.parameters = parameters
            self.showsCode = showsCode
        }

        /// The page's address with all parameters that the provider requires.
        /// - Parameter redirectURI: one that is registered with the provider; `nil` if the page displays the code.
        public func url(_ values: SettingValues, redirectURI: String?) -> String {
            OutgoingRequest.url(
                address,
                [("client_id", values.text(clientID)), ("response_type", "code")]
                    + (redirectURI.map { [("redirect_uri", $0)] } ?? [])
                    + [("scope", scopes.joined(separator: " "))] + parameters)
        }
    }

    /// `nil` if there is no such page, or its codes do not identify the person
    /// (``AccountProvider/signIn(with:through:)``).
    public let consent: ConsentPage?
    public let questions: [Question]
    /// Whether the provider exchanges codes.
    public let hasCodes: Bool
    /// Whether access tokens expire and are renewed.
    public let renews: Bool

    /// Whether the provider reports for which app a token was issued.
    public let tokensNameTheirApp: Bool

    /// Accounts for which a code suffices.
    init(consent: ConsentPage, tokensNameTheirApp: Bool) {
        self.consent = consent
        self.tokensNameTheirApp = tokensNameTheirApp
        questions = [Question(.authorizationCode, "The code (hidden): ")]
        hasCodes = true
        renews = true
    }

    /// Accounts tested with a token, a password, or a key.
    init(
        _ questions: [Question], hasCodes: Bool = false, renews: Bool = false, tokensNameTheirApp: Bool = false
    ) {
        consent = nil
        self.tokensNameTheirApp = tokensNameTheirApp
        self.questions = questions
        self.hasCodes = hasCodes
        self.renews = renews
    }
}
