package import SyncProtocol

extension DirectoryKeeper {
    /// What the library is to do about a download that clashes with work that it was given.
    package enum Resolution: Sendable, Hashable {
        /// Drop the work, and deliver: what it was about is kept here, and given to the library again where needed.
        case accept
        /// Do not deliver: the file is deleted anyway.
        case keepDeletion
    }

    /// Decides about new contents or a new text of a file for which the library has work.
    ///
    /// - Parameters:
    ///   - hasContents: whether the download brings contents.
    ///   - givenUpContents, givenUpPath, givenUpDeletion: what the library's work is about.
    /// - Throws: ``RecordError``; then nothing may be decided yet.
    package func resolve(
        _ uuid: FileUUID, hasContents: Bool, givenUpContents: Bool, givenUpPath: Bool, givenUpDeletion: Bool
    ) throws(RecordError) -> Resolution {
        // New contents win over a deletion that did not know of them; a new path does not.
        if givenUpDeletion, !hasContents { return .keepDeletion }
        try update(uuid) { file in
            if givenUpContents { file.conflict.insert(.contents) }
            if givenUpPath { file.conflict.insert(.path) }
        }
        return .accept
    }

    /// Notes that a deletion by others is accepted although the library was given new contents, which stay here as a new
    /// file.
    package func acceptDeletion(of uuid: FileUUID, givenUpContents: Bool) throws(RecordError) {
        if givenUpContents { try update(uuid) { $0.conflict.insert(.contents) } }
    }
}
