/// OneDrive's own hash is not the checksum that clients compare, so what comes to it by an address could not be checked: it
/// gives out addresses for downloads only.
extension OneDrive: DirectDownloads {
    /// "A short-lived URL", of about an hour (Microsoft Graph, "Download driveItem content").
    private static let addressSeconds: Int64 = 3_600

    public func downloadAddress(
        of objectID: String, in access: StorageAccess
    ) throws(CloudStorageError) -> DownloadAddress {
        DownloadAddress(
            url: try Self.downloadAddress(of: objectID, access, by: access.deadline),
            lifetimeSeconds: Self.addressSeconds)
    }
}
