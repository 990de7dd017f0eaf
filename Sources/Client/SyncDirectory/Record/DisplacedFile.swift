package import Foundation

/// A file that was moved out of the directory for a delivery, or is about to be.
///
/// Written before the move, and kept for a while after it: some program may have opened the file before and still write
/// to it. Contents that are not those expected come back as a file of their own.
package struct DisplacedFile: Sendable, Hashable {
    /// Its name among the files on their way.
    package var name: String
    /// Where it lay.
    package var path: RelativePath
    /// The contents that are known to be superseded; nil if they are not, and must come back.
    package var expected: ContentDigest?
    /// What takes its place; nil for a deletion.
    package var replacement: ContentDigest?
    /// When it was moved.
    package var since: Date
}

/// Two changes that could not both be made to one file.
package struct DirectoryConflict: Sendable, Hashable, Codable {
    /// What clashed.
    package enum Kind: String, Sendable, Hashable, Codable {
        /// Both sides changed the contents; those from here are now at ``DirectoryConflict/copy``.
        case bothChanged
        /// Others deleted what was changed here; it stays as a new file.
        case changedAndDeleted
        /// Two files claimed one path; one of them is now at ``DirectoryConflict/copy``.
        case samePath
    }

    package var kind: Kind
    /// The path that both sides meant.
    package var path: String
    /// Where the other one is now; nil if nothing had to move.
    package var copy: String?
    package var date: Date
}
