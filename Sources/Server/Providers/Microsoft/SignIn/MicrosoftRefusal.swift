import HTTPTransport

/// The meaning of a rejection by the token endpoint (Microsoft identity platform, "AADSTS error codes").
enum MicrosoftRefusal {
    /// Only the person can fix it, by signing in or consenting again.
    case personNeeded
    /// The permission was never granted, or was revoked.
    case consentMissing
    /// The ID token to exchange is not accepted.
    case assertionRefused
    /// The code has been used, or was requested with a different redirect URI or challenge.
    case codeRefused
    case other(AccountError)

    /// Expired or revoked refresh tokens, changed passwords, second factors.
    private static let personNeededCodes: Set = [70000, 70008, 700_082, 700_084, 50173, 50076, 50079]
    /// Not a JWT, wrong signature, wrong audience, expired, or an ID token.
    private static let assertionCodes: Set = [50027, 50013, 500_131, 500_133, 240_002]
    /// Already redeemed; a redirect URI that differs from the requested or registered one; a different verifier.
    private static let codeCodes: Set = [54005, 500_112, 50011, 501_481, 50148]
    /// Transient failures of the service, and repetitions of a request within a short time; neither concerns the grant.
    private static let passingCodes: Set = [90033, 50196]
    /// Client ID or secret unknown or expired: no user can fix that.
    private static let clientCodes: Set = [7_000_215, 7_000_222, 700_016]

    init(_ reply: Reply) {
        guard let body = try? AccountJSON.decode(MicrosoftErrorBody.self, reply) else {
            self = .other(.unavailable(detail: "unreadable reply with status \(reply.status)"))
            return
        }
        let codes = Set(body.errorCodes ?? [])
        let word = codes.sorted().reduce(body.error) { "\($0) AADSTS\($1)" }
        switch body.error {
        case _ where !codes.isDisjoint(with: Self.passingCodes), "temporarily_unavailable":
            self = .other(.unavailable(detail: word))
        case _ where !codes.isDisjoint(with: Self.codeCodes):
            self = .codeRefused
        case _ where !codes.isDisjoint(with: Self.clientCodes), "invalid_client", "unauthorized_client":
            self = .other(.misconfigured(detail: "Microsoft's token endpoint replied \(word)"))
        case _ where codes.contains(65001), "consent_required":
            self = .consentMissing
        case _ where !codes.isDisjoint(with: Self.assertionCodes):
            self = .assertionRefused
        case _ where !codes.isDisjoint(with: Self.personNeededCodes), "invalid_grant", "interaction_required":
            self = .personNeeded
        default:
            self = .other(.misconfigured(detail: "Microsoft's token endpoint replied \(word)"))
        }
    }

    /// For an exchange: whether the person must sign in or consent.
    var ofExchange: AccountError {
        switch self {
        case .personNeeded, .assertionRefused, .codeRefused: .rejected
        case .consentMissing: .scopeMissing
        case .other(let error): error
        }
    }

    /// For the exchange of a code: whether a different code would work.
    var ofCode: AccountError {
        switch self {
        case .personNeeded, .assertionRefused, .codeRefused: .codeRejected
        case .consentMissing: .scopeMissing
        case .other(let error): error
        }
    }

    /// For a renewal: whether it will ever work again.
    var ofRenewal: AccountError {
        switch self {
        case .personNeeded, .consentMissing, .assertionRefused, .codeRefused: .revoked
        case .other(let error): error
        }
    }
}
