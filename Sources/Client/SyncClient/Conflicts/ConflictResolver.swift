public import Foundation

/// Answers conflicts between local work and changes by others, the same way each time.
public struct ConflictResolver: Sendable {
    enum Strategy: Sendable {
        case delegate
        case serverWins
        case localWins
        case merge(deletionsWin: Bool, @Sendable (MergeInput) async throws -> MergedFile)
    }

    let strategy: Strategy

    /// The app's ``SyncServerDelegate`` decides, each time.
    public static let delegate = ConflictResolver(strategy: .delegate)
    /// Local work is dropped, and what others did is delivered.
    public static let serverWins = ConflictResolver(strategy: .serverWins)
    /// Local work is sent as the next version. A change of the text alone cannot bring back a file that others deleted:
    /// there the deletion counts.
    public static let localWins = ConflictResolver(strategy: .localWins)

    /// Both sides go into one file.
    ///
    /// The server's version counts as known and the local uploads are dropped; the merged file takes their place, in one
    /// step, and is sent in the same sync. Nothing is delivered for the file: `merge` itself puts the result into the
    /// app's own data, also if it is called twice.
    /// - Parameters:
    ///   - deletionsWin: Whether a file that one side changed and the other deleted is deleted. Unless told, its contents
    ///     win, whoever deleted; then the other files of its file group stay deleted for the others until the app uploads
    ///     them again.
    ///   - merge: Makes the file. If it throws, the question comes again in a later sync.
    public static func merge(
        deletionsWin: Bool = false, _ merge: @escaping @Sendable (MergeInput) async throws -> MergedFile
    ) -> ConflictResolver {
        ConflictResolver(strategy: .merge(deletionsWin: deletionsWin, merge))
    }
}

/// Both sides of a conflict about a file.
public struct MergeInput: Sendable {
    /// The file as the server has it, with the server's text.
    public let attributes: SyncAttributes
    /// The server's contents; nil if only the text changed there.
    public let serverFile: URL?
    /// The contents that wait to be sent; nil if only the text changed here.
    public let localFile: URL?
    /// The text that waits to be sent; nil if only the contents changed here.
    public let localAppMetaData: String?
}

/// What became of both sides of a conflict.
public struct MergedFile: Sendable {
    /// The contents. The library copies them before the app is asked anything else.
    public var file: URL
    /// The text; nil leaves the server's.
    public var appMetaData: String?

    /// Puts it together.
    public init(file: URL, appMetaData: String? = nil) {
        self.file = file
        self.appMetaData = appMetaData
    }
}

extension ConflictResolver.Strategy {
    /// The answer to a conflict about contents; nil if it takes a question.
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

    /// The answer to a conflict about a deletion; nil if it takes a question.
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
