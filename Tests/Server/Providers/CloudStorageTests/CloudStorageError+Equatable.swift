public import Providers

/// Errors are compared by their kind; their details are only for logs.
extension CloudStorageError: Equatable {
    public static func == (left: CloudStorageError, right: CloudStorageError) -> Bool {
        switch (left, right) {
        case (.notFound, .notFound), (.authorizationRevoked, .authorizationRevoked), (.quotaExceeded, .quotaExceeded),
            (.rateLimited, .rateLimited), (.unavailable, .unavailable), (.timedOut, .timedOut),
            (.contentMismatch, .contentMismatch), (.rejected, .rejected), (.contentFailed, .contentFailed),
            (.downloadCancelled, .downloadCancelled), (.localFailure, .localFailure), (.misconfigured, .misconfigured),
            (.serverNotAllowed, .serverNotAllowed):
            true
        default: false
        }
    }
}
