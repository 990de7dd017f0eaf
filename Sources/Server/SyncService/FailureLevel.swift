internal import Logging
import Providers
import Store

extension Logger.Level {
    /// The level of a failure that the server survives: an error if it lasts until the operator does something, such as
    /// a client secret that has expired, or a table that the database refuses; otherwise a warning.
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
