internal import Logging
import Providers
import Store

extension Logger.Level {
    /// The level of a failure that the server survives: an error if it lasts until the operator acts, such as an
    /// expired client secret, or a table to which the database denies access; otherwise a warning.
    init(ofFailure error: any Error) {
        switch error {
        case AccountError.misconfigured, CloudStorageError.misconfigured: self = .error
        case PushError.misconfigured, PushError.doubtful: self = .error
        case CloudStorageError.localFailure(let cause), CloudStorageError.contentFailed(let cause):
            self.init(ofFailure: cause)
        case StoreError.denied: self = .error
        default: self = .warning
        }
    }
}
