/// The user who owns the storage has been removed: no authorization was revoked; there is no user left who could have
/// one.
///
/// Occurs as the cause of ``CloudStorageError/localFailure(_:)``.
public struct OwnerRemoved: Error, Equatable {
    public init() {}
}
