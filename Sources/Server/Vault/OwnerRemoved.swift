/// The user who owns the storage has been removed. This is not a revoked authorization: there is no longer a user to
/// authorize.
///
/// Occurs as the cause of ``CloudStorageError/localFailure(_:)``.
public struct OwnerRemoved: Error, Equatable {
    public init() {}
}
