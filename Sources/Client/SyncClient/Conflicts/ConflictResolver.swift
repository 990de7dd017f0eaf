public import Foundation

/// Resolves conflicts between local changes and changes by others, the same way each time.
public struct ConflictResolver: Sendable {
    enum Strategy: Sendable {
        case delegate
        case serverWins
        case localWins
        case merge(deletionsWin: Bool, @Sendable (MergeInput) async throws -> MergedFile)
    }

    let strategy: Strategy

    /// The app's ``SyncServerDelegate`` resolves each conflict.
    public static let delegate = ConflictResolver(strategy: .delegate)
    /// Local changes are dropped, and changes made by others are delivered.
    public static let serverWins = ConflictResolver(strategy: .serverWins)
    /// Local changes are sent as the next version. A text change alone cannot restore a file that others deleted: in
    /// that case the deletion wins.
    public static let localWins = ConflictResolver(strategy: .localWins)

    /// Both sides are merged into one file.
    ///
    /// The library records the server's version and drops the local uploads; the merged file replaces them atomically
    /// and is sent in the same sync. Nothing is delivered for the file: `merge` itself writes the result to the app's
    /// own data, and must tolerate being called twice.
    /// - Parameters:
    ///   - deletionsWin: Whether a file that one side changed and the other deleted is deleted. By default its contents
    ///     win, regardless of which side deleted it; the library then asks the app for the other files of its file
    ///     group (``SyncServerDelegate/contentForReupload(of:fileVersion:)``), and restores them as well.
    ///   - merge: Creates the merged file. If it throws, a later sync asks again.
    public static func merge(
        deletionsWin: Bool = false, _ merge: @escaping @Sendable (MergeInput) async throws -> MergedFile
    ) -> ConflictResolver {
        ConflictResolver(strategy: .merge(deletionsWin: deletionsWin, merge))
    }
}

/// Both sides of a file conflict.
public struct MergeInput: Sendable {
    /// The file as the server has it, with the server's text.
    public let attributes: SyncAttributes
    /// The server's contents; nil if only the text changed there.
    public let serverFile: URL?
    /// The pending local contents; nil if only the text changed here.
    public let localFile: URL?
    /// The pending local text; nil if only the contents changed here.
    public let localAppMetaData: String?
}

/// The result of merging both sides of a conflict.
public struct MergedFile: Sendable {
    /// The contents. The library copies them before it asks the app anything else.
    public var file: URL
    /// The text; nil keeps the server's.
    public var appMetaData: String?

    /// Creates a merge result.
    public init(file: URL, appMetaData: String? = nil) {
        self.file = file
        self.appMetaData = appMetaData
    }
}

extension ConflictResolver.Strategy {
    /// The answer to a conflict about contents; nil if the delegate must be asked.
    func resolution(of conflict: ContentDownloadConflict) -> ContentDownloadResolution? {
        switch self {
        case .delegate: nil
        case .serverWins: .acceptContentDownload
        case .localWins: .rejectContentDownload(.keepAll)
        case .merge(let deletionsWin, _):
            switch conflict.conflictType {
            case .contentUpload: nil
            case .uploadDeletion, .both:
                deletionsWin ? .rejectContentDownload(.keepUploadDeletions) : .acceptContentDownload
            }
        }
    }

    /// The answer to a conflict about a deletion; nil if the delegate must be asked.
    func resolution(of conflict: DownloadDeletionConflict) -> DownloadDeletionResolution? {
        switch self {
        case .delegate: nil
        case .serverWins, .merge(deletionsWin: true, _): .acceptDownloadDeletion
        case .localWins, .merge:
            conflict.conflictType == .contentUpload(.appMetaData)
                ? .acceptDownloadDeletion : .rejectDownloadDeletion(.keepContentUpload)
        }
    }
}
