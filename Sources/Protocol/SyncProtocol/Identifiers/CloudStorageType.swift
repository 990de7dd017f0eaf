/// The cloud storage services in which users keep their files, with the spelling that clients know.
public enum CloudStorageType: String, Sendable, Hashable, Codable, CaseIterable {
    /// Google Drive.
    case google = "Google"
    /// Dropbox.
    case dropbox = "Dropbox"
    /// OneDrive.
    case microsoft = "Microsoft"

    /// The checksum by which clients and server compare a file's bytes in this storage.
    public var checkSumFlavour: CheckSum.Flavour {
        switch self {
        case .google: .md5
        case .dropbox: .dropboxContentHash
        case .microsoft: .sha1
        }
    }
}
