internal import Logging
import Providers

extension Logger.Level {
    /// The level of a failure that the server survives: an error if it lasts until the operator does something, such as
    /// a client secret that has expired; otherwise a warning.
    init(ofFailure error: any Error) {
        switch error {
        case AccountError.misconfigured, PushError.misconfigured, CloudStorageError.misconfigured: self = .error
        case CloudStorageError.localFailure(let cause), CloudStorageError.contentFailed(let cause):
            self.init(ofFailure: cause)
        default: self = .warning
        }
    }
}
