internal import Foundation
internal import SyncProtocol

extension DirectoryKeeper {
    /// The number of retries if another program takes a name meanwhile.
    private static let attempts = 8

    /// Replaces an existing file with a staged file, and examines the replaced one.
    /// - Parameter expected: the contents that are superseded; nil if any existing contents must be kept.
    func replace(
        _ path: RelativePath, by name: String, _ digest: ContentDigest, expecting expected: ContentDigest?
    ) throws {
        let displaced = DisplacedFile(
            name: name, path: path, expected: expected, replacement: digest, since: options.now())
        try record.save(displaced)
        try FileCalls.exchange(root.incomingPlace(name), with: try root.place(path))
        try root.syncFolder(of: path)
        try judge(displaced)
    }

    /// Restores a displaced file, alongside its replacement, unless its contents are known to be superseded.
    ///
    /// A superseded file is kept for a while: see ``lookAfterDisplaced()``.
    func judge(_ displaced: DisplacedFile) throws {
        let place = root.incomingPlace(displaced.name)
        guard case .file(let signature) = try FileCalls.item(place.name, in: place.folder.number) else {
            return try record.removeDisplaced(displaced.name)
        }
        if let expected = displaced.expected, try root.reading(place)?.digest == expected { return }
        try bringBack(displaced, signature)
    }

    private func bringBack(_ displaced: DisplacedFile, _ signature: FileSignature) throws {
        let place = root.incomingPlace(displaced.name)
        // A deletion has freed its path.
        var isFirst = displaced.replacement == nil
        for _ in 0..<Self.attempts {
            let copy =
                isFirst
                ? displaced.path
                : freeName(for: displaced.path, person: options.person, date: signature.modificationDate)
            isFirst = false
            try note(
                DirectoryConflict(
                    kind: displaced.replacement == nil ? .changedAndDeleted : .bothChanged, path: displaced.path.text,
                    copy: copy.text, date: options.now()))
            do {
                try FileCalls.move(place, to: try root.place(copy, makingFolders: true))
                return try record.removeDisplaced(displaced.name)
            } catch let error as DiskError where error.isOccupied || error.concernsThePlace {}
        }
        throw DiskError("renameat", displaced.path, code: 17)
    }

    /// A name for the second of two files that claim one place.
    func freeName(for path: RelativePath, person: String, date: Date) -> RelativePath {
        ConflictName.first(for: path, person: person, date: date) { candidate in
            if record.file(at: candidate) != nil || record.hasFiles(below: candidate) { return true }
            return (try? root.item(at: candidate)) != .missing
        }
    }

    /// Examines files that were replaced or deleted a while ago. Files that have been written to since are restored.
    package func lookAfterDisplaced() throws {
        let limit = options.now().addingTimeInterval(-(options.displacedPeriod / .seconds(1)))
        for displaced in record.displaced.values where displaced.since < limit { try release(displaced) }
    }

    private func release(_ displaced: DisplacedFile) throws {
        try judge(displaced)
        guard record.displaced[displaced.name] != nil else { return }
        try FileCalls.removeFile(displaced.name, in: root.incoming.number)
        try record.removeDisplaced(displaced.name)
    }

    /// Completes work that the end of a process interrupted; must be called first.
    package func recover() throws {
        for displaced in record.displaced.values {
            let place = root.incomingPlace(displaced.name)
            if let replacement = displaced.replacement,
                try FileCalls.item(place.name, in: place.folder.number) != .missing,
                try root.reading(place)?.digest == replacement
            {
                // The exchange never happened.
                try FileCalls.removeFile(displaced.name, in: root.incoming.number)
                try record.removeDisplaced(displaced.name)
            } else {
                try finish(displaced)
                try judge(displaced)
            }
        }
        for name in try root.incomingNames() where record.displaced[name] == nil {
            try recoverUnknown(name)
        }
    }

    /// The directory already reflects a delivery that its record does not know yet.
    private func finish(_ displaced: DisplacedFile) throws {
        guard let replacement = displaced.replacement, let file = record.file(at: displaced.path),
            file.digest != replacement, try root.reading(of: displaced.path)?.digest == replacement
        else { return }
        try update(file.fileUUID) { file in
            file.digest = replacement
            file.signature = nil
        }
    }

    /// Recovers a staged file that was not installed, or an interrupted exchange on a system without an atomic one.
    private func recoverUnknown(_ name: String) throws {
        guard name.hasSuffix(".old"), let displaced = record.displaced[String(name.dropLast(4))] else {
            return try FileCalls.removeFile(name, in: root.incoming.number)
        }
        if try root.item(at: displaced.path) == .missing {
            try FileCalls.move(root.incomingPlace(name), to: try root.place(displaced.path))
        } else {
            try FileCalls.removeFile(name, in: root.incoming.number)
        }
    }

    /// Moves a staged file to a path that no other file has, and records it.
    func install(_ file: RecordedFile, from name: String, at wanted: RelativePath) throws {
        var (file, wanted, isUnnamed) = (file, wanted, wanted == fallbackPath(file.fileUUID))
        for _ in 0..<Self.attempts {
            let claim: Claim
            do {
                claim = try self.claim(wanted, for: file)
                file.isAlias = isUnnamed || claim.isAlias
                if claim.mustBeAnnounced { file.pending.insert(.path) }
                switch claim.outcome {
                case .duplicate(let other):
                    try FileCalls.removeFile(name, in: root.incoming.number)
                    return try mergeDuplicates(file, other)
                case .free(let path):
                    try FileCalls.move(root.incomingPlace(name), to: try root.place(path, makingFolders: true))
                    file.path = path
                    try record.save(file)
                    return try root.syncFolder(of: path)
                }
            } catch let error as DiskError where error.isOccupied {
                // Another program was faster; its file is handled like any other.
                try look()
            } catch let error as DiskError where error.concernsThePlace {
                (wanted, isUnnamed) = (fallbackPath(file.fileUUID), true)
            }
        }
        throw DiskError("renameat", wanted, code: 17)
    }

    /// Moves a recorded file to its wanted path.
    func relocate(_ uuid: FileUUID, to wanted: RelativePath) throws {
        for _ in 0..<Self.attempts {
            guard var file = record[uuid], file.path != wanted else { return }
            do {
                let claim = try self.claim(wanted, for: file)
                file.isAlias = claim.isAlias
                if claim.mustBeAnnounced { file.pending.insert(.path) }
                // Two files with identical contents remain separate here: both were created deliberately.
                guard case .free(let path) = claim.outcome else { return }
                if case .file = try root.item(at: file.path) { try root.move(file.path, to: path) }
                file.path = path
                file.signature = nil
                return try record.save(file)
            } catch let error as DiskError where error.isOccupied {
                try look()
            } catch let error as DiskError where error.concernsThePlace {
                // It stays where it is.
                return try update(uuid) { $0.isAlias = true }
            }
        }
    }

    private struct Claim {
        enum Outcome {
            case free(RelativePath)
            /// The file there has the same contents.
            case duplicate(RecordedFile)
        }

        var outcome: Outcome
        /// Whether the file's path must be announced to others.
        var mustBeAnnounced = false
        var isAlias = false
    }

    /// Decides which file may have a path; the loser receives a name that indicates the conflict.
    ///
    /// All devices decide alike: of two files, the one with the smaller UUID keeps its place, and a folder takes
    /// precedence over a file.
    private func claim(_ wanted: RelativePath, for file: RecordedFile) throws -> Claim {
        if let other = record.fileOnTheWay(to: wanted), other.fileUUID != file.fileUUID {
            try stepAside(other)
        }
        if let other = record.file(at: wanted), other.fileUUID != file.fileUUID {
            if other.digest == file.digest, try root.reading(of: other.path)?.digest == file.digest,
                record[file.fileUUID] == nil
            {
                return Claim(outcome: .duplicate(other))
            }
            if other.fileUUID.precedes(file.fileUUID) { return try loses(file, wanted) }
            try stepAside(other)
        }
        if record.hasFiles(below: wanted) { return try loses(file, wanted) }
        root.removeEmptyFolders(at: wanted)
        switch try root.item(at: wanted) {
        case .missing: return Claim(outcome: .free(wanted))
        case .file:
            // Another spelling of its own name, on a case-insensitive file system.
            if record.file(at: wanted) != nil { return Claim(outcome: .free(wanted)) }
            // Not recorded: ignored, a twin, or not yet settled.
            var claim = try loses(file, wanted)
            claim.mustBeAnnounced = !rules().ignoresFile(wanted) && !record.isTwin(wanted)
            claim.isAlias = !claim.mustBeAnnounced
            return claim
        default:
            var claim = try loses(file, wanted)
            (claim.mustBeAnnounced, claim.isAlias) = (false, true)
            return claim
        }
    }

    private func loses(_ file: RecordedFile, _ wanted: RelativePath) throws -> Claim {
        let copy = freeName(for: wanted, person: file.by, date: date(of: file))
        try note(DirectoryConflict(kind: .samePath, path: wanted.text, copy: copy.text, date: options.now()))
        return Claim(outcome: .free(copy), mustBeAnnounced: true)
    }

    /// Moves a file that loses its path.
    private func stepAside(_ file: RecordedFile) throws {
        for _ in 0..<Self.attempts {
            let copy = freeName(for: file.path, person: file.by, date: date(of: file))
            do {
                if case .file = try root.item(at: file.path) { try root.move(file.path, to: copy) }
                try note(DirectoryConflict(kind: .samePath, path: file.path.text, copy: copy.text, date: options.now()))
                return try update(file.fileUUID) { file in
                    file.path = copy
                    file.isAlias = false
                    file.signature = nil
                    file.pending.insert(.path)
                }
            } catch let error as DiskError where error.isOccupied {}
        }
        throw DiskError("renameat", file.path, code: 17)
    }

    /// Of two files with the same contents at the same path, deletes the one with the larger UUID.
    private func mergeDuplicates(_ new: RecordedFile, _ there: RecordedFile) throws {
        var (new, there) = (new, there)
        let isNewKept = new.fileUUID.precedes(there.fileUUID)
        new.path = there.path
        if isNewKept { there.pending = .deletion } else { new.pending = .deletion }
        // The deleted file first, so that the path belongs to the other.
        for file in isNewKept ? [there, new] : [new, there] { try record.save(file) }
    }

    private func date(of file: RecordedFile) -> Date { Date(timeIntervalSince1970: Double(file.modified) / 1_000) }
}
