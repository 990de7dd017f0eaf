import Providers
import Store
import SyncProtocol
import Vault

/// What a failure means for the move of a file. Reasons are a few words that contain nothing of what a provider wrote.
enum MoveSetback: Equatable {
    /// The file is left to the phones: its bytes are not there any more, or are others.
    case fileFails(reason: String)
    /// The former account cannot be read any more.
    case moveFails(reason: String)
    /// It may be tried again.
    /// - Parameters:
    ///   - concernsFile: whether it may be due to this very file.
    ///   - needsPerson: whether a person has to do something first.
    case later(reason: String, after: Duration?, concernsFile: Bool = false, needsPerson: Bool = false)

    /// `nil` if it is a failure of the server itself.
    init?(_ error: any Error) {
        switch error {
        case let failure as MoveSourceFailure: self.init(ofFormer: failure.cause)
        case EndpointError.contentMismatch: self = .fileFails(reason: "other bytes")
        case let error as CloudStorageError: self.init(ofPresent: error)
        // Somebody was faster, or the object may be deleted: what is to be done is looked up anew.
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

    /// A failure that passes.
    private static func passing(_ error: CloudStorageError, _ reason: String) -> MoveSetback {
        switch error {
        case .unavailable, .timedOut, .contentMismatch, .notFound:
            .later(reason: reason, after: error.retryAfter, concernsFile: true)
        case .misconfigured: .later(reason: reason, after: nil, needsPerson: true)
        default: .later(reason: reason, after: error.retryAfter)
        }
    }
}
