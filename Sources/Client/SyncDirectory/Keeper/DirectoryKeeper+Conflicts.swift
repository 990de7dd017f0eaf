package import Foundation
package import SyncProtocol

extension DirectoryKeeper {
    /// How the library resolves a download that conflicts with its pending work.
    package enum Resolution: Sendable, Hashable {
        /// Drop the work, and deliver: the keeper retains the local state, and passes it to the library again if
        /// needed.
        case accept
        /// Do not deliver: the file is deleted anyway.
        case keepDeletion
    }

    /// Decides what to do with new contents, or a new text, for a file that has pending work.
    ///
    /// - Parameters:
    ///   - path: the path of the file according to the download.
    ///   - hasContents: whether the download contains contents.
    ///   - givenUpContents, givenUpPath, givenUpDeletion: the kinds of work that the library drops.
    /// - Throws: ``RecordError``; then no decision may be made yet.
    package func resolve(
        _ uuid: FileUUID, at path: String? = nil, hasContents: Bool, givenUpContents: Bool, givenUpPath: Bool,
        givenUpDeletion: Bool
    ) throws(RecordError) -> Resolution {
        // New contents win over a deletion that was made without knowledge of them; a new path does not.
        if givenUpDeletion, !hasContents { return .keepDeletion }
        try update(uuid) { file in
            if givenUpContents { file.conflict.insert(.contents) }
            if givenUpPath { file.conflict.insert(.path) }
        }
        if givenUpDeletion, let path = record.handedOver[uuid]?.path.text ?? path {
            try note(DirectoryConflict(kind: .deletedAndChanged, path: path, copy: nil, date: options.now()))
        }
        try dropHandedOver(uuid)
        return .accept
    }

    /// Records that a deletion by others is accepted although the library had new contents, which are kept here as a
    /// new file.
    package func acceptDeletion(of uuid: FileUUID, givenUpContents: Bool) throws(RecordError) {
        if givenUpContents { try update(uuid) { $0.conflict.insert(.contents) } }
        try dropHandedOver(uuid)
    }
}

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

/// Names for the second of two files that claim the same path: `name (conflict of PERSON, DATE).ext`.
package enum ConflictName {
    /// Maximum length of the part of a person's name in a conflict name, in characters.
    private static let maximumPersonCharacters = 40

    /// The first unused conflict name.
    ///
    /// - Parameters:
    ///   - path: the path that both files claim.
    ///   - person: the author of the contents; any text, since others choose it.
    ///   - date: when the contents were written; the name contains its day, in UTC, so that all devices choose the same
    ///     name.
    ///   - isTaken: returns whether a path is in use.
    package static func first(
        for path: RelativePath, person: String, date: Date, isTaken: (RelativePath) -> Bool
    ) -> RelativePath {
        let person = sanitized(person)
        let day = date.formatted(.iso8601.year().month().day())
        var number = 1
        while true {
            let ending = number == 1 ? "" : " \(number)"
            let mark = " (conflict of \(person), \(day)\(ending))"
            if let candidate = marked(path, mark), !isTaken(candidate) { return candidate }
            number += 1
        }
    }

    /// `path` with a mark before its extension; the name is shortened if it is too long.
    private static func marked(_ path: RelativePath, _ mark: String) -> RelativePath? {
        let name = path.name
        var (stem, suffix) = (name, "")
        if let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32 {
            stem = String(name[..<dot])
            suffix = String(name[dot...])
        }
        while (stem + mark + suffix).utf8.count > RelativePath.maximumNameBytes, !stem.isEmpty { stem.removeLast() }
        if let renamed = path.renamed(stem + mark + suffix) { return renamed }
        // The folder's path leaves no room for the mark.
        return RelativePath(stem + mark + suffix)
    }

    /// A person's name without characters that file systems or terminals could misinterpret.
    private static func sanitized(_ person: String) -> String {
        let scalars = person.unicodeScalars.filter {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || " -_'.@+".unicodeScalars.contains($0)
        }
        let name = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
        return name.isEmpty ? "somebody" : String(name.prefix(maximumPersonCharacters))
    }
}
