/// What people do in their own storage without the server, through the same interface and with the same tokens.
///
/// The server itself never asks for any of it. `syncctl try` does, in place of the owner of a test account, to find out
/// whether the server copes with the result.
public protocol OwnerOperations: CloudProvider {
    /// Gives an object another name in the same folder.
    /// - Returns: whether the object keeps its identifier; where it does not, the new name identifies it from now on.
    /// - Throws: ``CloudStorageError/notFound``.
    func rename(
        objectID: String, from oldName: String, to newName: String, in access: StorageAccess
    ) throws(CloudStorageError) -> Bool

    /// How many bytes the storage still takes; `nil` if the provider does not tell, as some do of some accounts.
    func freeBytes(in access: StorageAccess) throws(CloudStorageError) -> Int64?

    /// Removes the folder where we keep files, which is empty; does nothing where it is not ours to remove.
    func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError)
}

extension OwnerOperations {
    public func removeEmptyFolder(in access: StorageAccess) throws(CloudStorageError) {}
}
