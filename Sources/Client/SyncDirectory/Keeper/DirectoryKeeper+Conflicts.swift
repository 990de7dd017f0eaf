package import SyncProtocol

extension DirectoryKeeper {
    /// How the library resolves a download that conflicts with work that it was given.
    package enum Resolution: Sendable, Hashable {
        /// Drop the work, and deliver: what it concerned is kept here, and passed to the library again where needed.
        case accept
        /// Do not deliver: the file is deleted anyway.
        case keepDeletion
    }

    /// Decides about new contents or a new text of a file for which the library has work.
    ///
    /// - Parameters:
    ///   - path: where the download says that the file is.
    ///   - hasContents: whether the download contains contents.
    ///   - givenUpContents, givenUpPath, givenUpDeletion: what the library's work concerns.
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

    /// Notes that a deletion by others is accepted although the library was given new contents, which are kept here as
    /// a new file.
    package func acceptDeletion(of uuid: FileUUID, givenUpContents: Bool) throws(RecordError) {
        if givenUpContents { try update(uuid) { $0.conflict.insert(.contents) } }
        try dropHandedOver(uuid)
    }
}
