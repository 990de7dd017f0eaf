import Providers
import Store
import SyncProtocol
import Vault

/// The consequence of a failure for the move of a file. Reasons are short and never contain text from a provider.
enum MoveSetback: Equatable {
    /// The phones must upload the file: its bytes are missing or different.
    case fileFails(reason: String)
    /// The former account can no longer be read.
    case moveFails(reason: String)
    /// The move may be retried.
    /// - Parameters:
    ///   - concernsFile: whether the cause may be this particular file.
    ///   - needsPerson: whether a person must act first.
    case later(reason: String, after: Duration?, concernsFile: Bool = false, needsPerson: Bool = false)

    /// `nil` for a failure of the server itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as MoveSourceFailure: self.init(ofFormer: failure.cause)
        case EndpointError.contentMismatch: self = .fileFails(reason: "other bytes")
        case let error as CloudStorageError: self.init(ofPresent: error)
        // Somebody was faster, or the object may be deleted: the next attempt looks up the state again.
        case EndpointError.uploadConflict, EndpointError.ownerRemoved, is AccountSwitched:
            self = .later(reason: "conflict", after: nil, concernsFile: true)
        default: return nil
        }
    }

    private init(ofFormer error: CloudStorageError) {
        self =
            switch error {
            case .authorizationRevoked, .serverNotAllowed: .moveFails(reason: "former account: \(error)")
            case .notFound: .fileFails(reason: "not found")
            case .contentMismatch: .fileFails(reason: "other bytes")
            case .rejected: .fileFails(reason: "rejected by the former account")
            case .termsNotAccepted: .later(reason: "former account: \(error)", after: nil, needsPerson: true)
            default: Self.passing(error, "former account: \(error)")
            }
    }

    private init(ofPresent error: CloudStorageError) {
        self =
            switch error {
            case .rejected: .fileFails(reason: "rejected by the present account")
            case .authorizationRevoked, .quotaExceeded, .serverNotAllowed, .termsNotAccepted:
                .later(reason: "present account: \(error)", after: nil, needsPerson: true)
            default: Self.passing(error, "present account: \(error)")
            }
    }

    /// A temporary failure.
    private static func passing(_ error: CloudStorageError, _ reason: String) -> MoveSetback {
        switch error {
        case .unavailable, .timedOut, .contentMismatch, .notFound:
            .later(reason: reason, after: error.retryAfter, concernsFile: true)
        case .misconfigured: .later(reason: reason, after: nil, needsPerson: true)
        default: .later(reason: reason, after: error.retryAfter)
        }
    }
}
