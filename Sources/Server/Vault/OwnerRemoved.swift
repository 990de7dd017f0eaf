/// The user whose storage is meant has been removed: nobody has withdrawn a permission, but there is nobody any more who
/// could have one.
///
/// Comes as the cause of ``CloudStorageError/localFailure(_:)``.
public struct OwnerRemoved: Error, Equatable {
    public init() {}
}
