import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Removes the caller's user, with memberships, devices and tokens; the files in their storage belong to them and are
/// left there.
///
/// Everything is one transaction. The second of two identical concurrent requests finds nothing left to do and gets the
/// same reply; a later one gets the error for an unknown user.
struct RemoveUserEndpoint: Endpoint {
    func respond(
        to request: RemoveUserRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        _ = try context.store.transaction { session in
            try session.removeUser(caller.userID, at: context.now)
        }
        return .json(EmptyResponse())
    }
}

extension RemoveUserRequest: ServedRequest {
    typealias Handler = RemoveUserEndpoint
}

/// The outbox work that revokes the grants of removed users at providers.
///
/// Best effort: the tokens of a removed user are kept for at most a day.
struct RevocationWork: Sendable {
    /// How long after the removal the revocation is still attempted, in seconds.
    static let patienceSeconds: Int64 = 86_400
    /// How long a request to the provider may take.
    private static let askingLimit: Duration = .seconds(20)
    /// How long an account that signs up again waits for that request to end, in seconds; longer than ``askingLimit``.
    private static let announcedSeconds = 30

    let store: MetadataStore
    let storage: StorageRegistry
    let leaseOwner: String

    /// Whether a revocation will no longer be attempted at `time`.
    func isStale(_ grant: AbandonedGrant, at time: WireDate) -> Bool {
        time.secondsSince1970 - grant.abandonedAt.secondsSince1970 > Self.patienceSeconds
    }

    /// Revokes the grant at the provider. Does nothing if the account has a user again, to whom the grant then belongs.
    /// - Throws: `AccountError`, `StoreError`.
    func revoke(_ grant: AbandonedGrant, for item: OutboxItem, _ transport: Transport, _ logger: Logger) throws {
        guard let account = storage.account(grant.accountType) else { return }
        guard let credentials = try storage.vault.open(grant.record, from: .user(item.userID), logger) else {
            return logger.warning("Grant not revoked: its record cannot be opened")
        }
        let isOurs = try store.transaction { session in
            try session.beginRevocation(item.id, by: leaseOwner, seconds: Self.announcedSeconds)
        }
        guard isOurs else { return }
        let client = AccountClient(
            transport: transport, deadline: .after(Self.askingLimit), backoff: storage.backoff)
        try account.revoke(credentials, through: client)
    }
}

extension AccountError {
    /// How long to wait before retrying, if known.
    var retryAfter: Duration? {
        switch self {
        case .notAsked(let retryAfter, _): retryAfter
        case .addressDoubtful(let error): error.retryAfter
        case .withheld(let reason): reason.retryAfter
        default: nil
        }
    }

    /// A word for the log and the table, without text from the provider.
    var word: String {
        switch self {
        case .rejected, .keyRejected, .rightMissing, .codeRejected, .scopeMissing, .storageMissing, .storageUnusable,
            .revoked:
            "refused"
        case .notAsked, .unavailable, .addressDoubtful: "unavailable"
        case .withheld: "withheld"
        case .timedOut: "timed out"
        case .misconfigured, .malformedDetails, .serverNotAllowed, .anyPasswordAccepted: "misconfigured"
        }
    }
}
