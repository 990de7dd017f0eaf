/// Operations that people perform in their own storage without the server, through the same interface and with the same
/// tokens.
///
/// The server itself never calls them. `syncctl try` does, in place of the owner of a test account, to check how the
/// server handles the results.
public protocol OwnerOperations: CloudProvider {
    /// Renames an object within its folder.
    /// - Returns: whether the object keeps its identifier; if not, the new name identifies it from now on.
    /// - Throws: ``CloudStorageError/notFound``.
    func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool

    /// The number of bytes that the storage can still store; `nil` if the provider does not report it, as some
    /// providers do not for some accounts.
    func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64?

    /// Removes our folder, which must be empty; does nothing if it is not ours to remove.
    func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError)
}

extension OwnerOperations {
    public func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError) {}
}
