package import Foundation

/// A file that a delivery has moved out of the directory, or is about to move.
///
/// Recorded before the move, and kept for a while after it: a program may have opened the file earlier and may still
/// write to it. Unexpected contents are restored as a separate file.
package struct DisplacedFile: Sendable, Hashable {
    /// Its name in the folder of incoming files.
    package var name: String
    /// Its former path.
    package var path: RelativePath
    /// The contents that are known to be superseded; nil if any contents must be restored.
    package var expected: ContentDigest?
    /// The contents that replace it; nil for a deletion.
    package var replacement: ContentDigest?
    /// When it was moved.
    package var since: Date
}

/// Two changes that could not both be applied to one file.
package struct DirectoryConflict: Sendable, Hashable, Codable {
    /// The kinds of conflicts.
    package enum Kind: String, Sendable, Hashable, Codable {
        /// Both sides changed the contents; the local ones are now at ``DirectoryConflict/copy``.
        case bothChanged
        /// Others deleted a file that was changed here; it is kept as a new file.
        case changedAndDeleted
        /// Others changed a file that was deleted here, or uploaded it again after the server had lost it; it is
        /// restored.
        case deletedAndChanged
        /// Two files claimed one path; one of them is now at ``DirectoryConflict/copy``.
        case samePath
    }

    package var kind: Kind
    /// The path that both sides refer to.
    package var path: String
    /// The path of the other file now; nil if no file had to move.
    package var copy: String?
    package var date: Date
}
