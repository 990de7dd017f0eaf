package import Foundation
package import SyncProtocol

/// A change by others to apply to the directory.
package struct Delivery: Sendable, Hashable {
    /// The kinds of changes.
    package enum Kind: Sendable, Hashable {
        /// New contents, at this URL outside the directory; they are copied.
        case contents(URL)
        /// Only the text is new.
        case description
        /// The file was deleted.
        case deletion
    }

    package var fileUUID: FileUUID
    package var kind: Kind
    /// The file's text; nil if it has none, or it is unknown.
    package var appMetaData: String?
    package var mimeType: MIMEType?
    /// When the contents were uploaded, by the server's clock.
    package var updateDate: Date?

    package init(
        fileUUID: FileUUID, kind: Kind, appMetaData: String? = nil, mimeType: MIMEType? = nil, updateDate: Date? = nil
    ) {
        self.fileUUID = fileUUID
        self.kind = kind
        self.appMetaData = appMetaData
        self.mimeType = mimeType
        self.updateDate = updateDate
    }

    var description: FileDescription? { appMetaData.flatMap { FileDescription(appMetaData: $0) } }
}

/// The outcome of a delivery.
package enum DeliveryOutcome: Sendable, Hashable {
    /// The directory reflects the change, or already did.
    case done
    /// The contents are not available locally, and must be requested: the file was deleted locally, or its record was
    /// lost.
    case needsContents
}

extension DirectoryKeeper {
    /// Applies a change by others to the directory. Idempotent.
    ///
    /// Contents that exist only here are kept: alongside the new ones, under a name that indicates the conflict, or, if
    /// others deleted the file, as a new file.
    /// - Throws: ``DiskError`` if the disk is full or inaccessible, ``RecordError``; then the delivery must be
    ///   repeated.
    package func deliver(_ delivery: Delivery) throws -> DeliveryOutcome {
        try followMove(of: delivery.fileUUID)
        switch delivery.kind {
        case .contents(let source): try deliverContents(delivery, from: source)
        case .description: return try deliverDescription(delivery)
        case .deletion: try deliverDeletion(delivery.fileUUID)
        }
        return .done
    }

    /// Determines first whether a file that is no longer at its path was moved since the last look.
    private func followMove(of uuid: FileUUID) throws {
        guard let file = record[uuid], !file.pending.contains(.deletion), try root.item(at: file.path) == .missing
        else { return }
        try look()
    }

    private func deliverContents(_ delivery: Delivery, from source: URL) throws {
        let uuid = delivery.fileUUID
        let description = delivery.description
        let name = options.newUUID().uuidString
        let date = description?.modificationDate ?? delivery.updateDate
        let digest = try root.stage(source, as: name, modified: date)

        var isHere = false
        if let file = record[uuid], !file.pending.contains(.deletion), case .file = try root.item(at: file.path) {
            isHere = true
            if try root.reading(of: file.path)?.digest == digest {
                try FileCalls.removeFile(name, in: root.incoming.number)
            } else {
                let isSuperseded = !file.pending.contains(.contents) && !file.conflict.contains(.contents)
                try replace(file.path, by: name, digest, expecting: isSuperseded ? file.digest : nil)
            }
        }
        let modified = date.map { Int64($0.timeIntervalSince1970 * 1_000) } ?? 0
        let path = description?.relativePath ?? fallbackPath(uuid)
        var file =
            record[uuid]
            ?? RecordedFile(
                fileUUID: uuid, path: path, signature: nil, digest: digest,
                mimeType: delivery.mimeType ?? options.mimeType(path), modified: modified, by: "")
        let wanted = try wantedPath(of: file, isHere: isHere, delivery)
        file = record[uuid] ?? file
        // Must be read before it is trusted: a program may be writing it.
        file.signature = nil
        file.digest = digest
        file.modified = modified
        file.by = description?.by ?? ""
        file.pending.subtract([.contents, .deletion])
        file.conflict.remove(.contents)
        file.serverPath = description?.relativePath ?? file.serverPath
        if isHere {
            try record.save(file)
            try relocate(uuid, to: wanted)
        } else {
            file.pending = []
            file.conflict = []
            try install(file, from: name, at: wanted)
        }
    }

    private func deliverDescription(_ delivery: Delivery) throws -> DeliveryOutcome {
        guard let file = record[delivery.fileUUID], !file.pending.contains(.deletion) else {
            // Deleted locally, and the server will be informed.
            return record[delivery.fileUUID] == nil ? .needsContents : .done
        }
        let wanted = try wantedPath(of: file, isHere: true, delivery)
        try update(file.fileUUID) { file in
            // Changes dropped in favour of the new text are sent again after it.
            if file.conflict.contains(.contents) { file.pending.insert(.contents) }
            file.conflict.remove(.contents)
            file.serverPath = delivery.description?.relativePath ?? file.serverPath
        }
        try relocate(file.fileUUID, to: wanted)
        return .done
    }

    private func deliverDeletion(_ uuid: FileUUID) throws {
        guard let file = record[uuid] else { return }
        guard !file.pending.contains(.deletion), case .file = try root.item(at: file.path) else {
            return try record.remove(uuid)
        }
        guard !file.pending.contains(.contents), !file.conflict.contains(.contents),
            try root.reading(of: file.path)?.digest == file.digest
        else {
            try note(
                DirectoryConflict(kind: .changedAndDeleted, path: file.path.text, copy: nil, date: options.now()))
            return try record.remove(uuid)
        }
        let displaced = DisplacedFile(
            name: options.newUUID().uuidString, path: file.path, expected: file.digest, replacement: nil,
            since: options.now())
        try record.save(displaced)
        try FileCalls.move(try root.place(file.path), to: root.incomingPlace(displaced.name))
        root.removeEmptyFolders(above: file.path)
        try record.remove(uuid)
        try judge(displaced)
    }

    /// A name directly below the directory for a file that cannot have its proper path.
    func fallbackPath(_ uuid: FileUUID) -> RelativePath {
        guard let path = RelativePath("unnamed-\(uuid.rawValue.lowercased())") else {
            preconditionFailure("a UUID is a usable name")
        }
        return path
    }

    /// The path of a file after a delivery; records whether its local path must still be announced.
    ///
    /// A local move that others do not know is kept; one that was dropped is kept only if others have not moved the
    /// file.
    private func wantedPath(of file: RecordedFile, isHere: Bool, _ delivery: Delivery) throws -> RelativePath {
        guard let theirs = delivery.description?.relativePath else {
            // The path is unusable or missing: the file stays where it is.
            return file.path
        }
        guard isHere else { return theirs }
        let wasGivenUp = file.conflict.contains(.path)
        if wasGivenUp {
            let isTheirsUnchanged = file.serverPath == theirs
            try update(file.fileUUID) { file in
                file.conflict.remove(.path)
                if isTheirsUnchanged, file.path != theirs { file.pending.insert(.path) }
            }
            return isTheirsUnchanged ? file.path : theirs
        }
        if file.pending.contains(.path) || (file.isAlias && file.serverPath == theirs) { return file.path }
        return theirs
    }
}

extension DirectoryKeeper {
    /// Whether the directory has a file's last synchronized contents.
    package enum SynchronizedContents: Sendable, Hashable {
        /// They are at this path.
        case unchanged(RelativePath)
        /// The contents differ.
        case changed
        /// The file is not here, or cannot be read.
        case missing
    }

    /// Finds the last synchronized contents of a file. Reads a file that was touched since.
    package func synchronizedContents(of uuid: FileUUID) -> SynchronizedContents {
        guard let file = record[uuid], !file.pending.contains(.deletion), file.conflict.isEmpty else { return .missing }
        guard let item = try? root.item(at: file.path), case .file(let signature) = item else { return .missing }
        guard !file.pending.contains(.contents) else { return .changed }
        if signature == file.signature { return .unchanged(file.path) }
        guard let reading = try? root.reading(of: file.path) else { return .missing }
        return reading.digest == file.digest ? .unchanged(file.path) : .changed
    }
}
