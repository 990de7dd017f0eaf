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

    /// Decides about new contents or a new text of a file for which the library has work.
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
