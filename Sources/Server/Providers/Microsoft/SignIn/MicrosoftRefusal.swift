import HTTPTransport

/// What the token endpoint's refusal means (Microsoft identity platform, "AADSTS error codes").
enum MicrosoftRefusal {
    /// Only the person can fix it, by signing in or consenting again.
    case personNeeded
    /// The permission was never granted, or was revoked.
    case consentMissing
    /// The id token that was to be exchanged is not accepted.
    case assertionRefused
    /// The code has been used, or was requested with another redirect URI or challenge.
    case codeRefused
    case other(AccountError)

    /// Expired or revoked refresh tokens, changed passwords, second factors.
    private static let personNeededCodes: Set = [70000, 70008, 700_082, 700_084, 50173, 50076, 50079]
    /// Not a JWT, wrong signature, for somebody else, expired, an id token.
    private static let assertionCodes: Set = [50027, 50013, 500_131, 500_133, 240_002]
    /// Redeemed already; a redirect URI other than the one in the request or the registered one; another verifier.
    private static let codeCodes: Set = [54005, 500_112, 50011, 501_481, 50148]
    /// Transient failures of the service; and the same request too often in a short time, which says nothing about the
    /// grant.
    private static let passingCodes: Set = [90033, 50196]
    /// Client id or secret unknown or expired: nothing that a user could fix.
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
            self = .other(.misconfigured(detail: "Microsoft's token endpoint says \(word)"))
        case _ where codes.contains(65001), "consent_required":
            self = .consentMissing
        case _ where !codes.isDisjoint(with: Self.assertionCodes):
            self = .assertionRefused
        case _ where !codes.isDisjoint(with: Self.personNeededCodes), "invalid_grant", "interaction_required":
            self = .personNeeded
        default:
            self = .other(.misconfigured(detail: "Microsoft's token endpoint says \(word)"))
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

    /// For the exchange of a code: whether another one would do.
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
