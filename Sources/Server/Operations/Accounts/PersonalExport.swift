import HTTPTransport
import Logging
import Posix
import Providers
import Store
public import SyncProtocol
public import Vault

/// All data that the server stores about one person, to give to them; on request with the contents of their files.
public struct PersonalExport: Report {
    /// A file whose contents could not be downloaded.
    public struct MissingFile: Encodable {
        public var fileUUID: FileUUID
        public var reason: String
    }

    /// Incremented whenever a field changes its meaning.
    public private(set) var format = 1
    public var exportedAt: WireDate
    public var data: PersonalData
    /// Each file's path in the folder of the export, by the file's UUID; absent without contents.
    public private(set) var paths: [String: String]?
    public private(set) var missingFiles: [MissingFile] = []

    public init(_ data: PersonalData, at now: WireDate) {
        self.data = data
        exportedAt = now
    }

    public var isGood: Bool { missingFiles.isEmpty }

    public var lines: [String] {
        var lines = [
            "exported user \(data.user.user.userID): \(Quantity.of(data.files.count, "file")) of their own, "
                + "\(Quantity.of(data.user.groups.count, "group")), \(Quantity.of(data.user.deviceUUIDs.count, "device"))"
        ]
        if let paths { lines.append("\(Quantity.of(paths.count, "file")) with contents") }
        for file in missingFiles { lines.append("file \(file.fileUUID) could not be downloaded: \(file.reason)") }
        return lines
    }

    /// Downloads the person's files from their own storage into `folder`, one folder per group.
    ///
    /// - Parameter storage: the person's storage.
    /// - Throws: ``PosixError`` if writing fails; the export lists files that the storage does not return.
    public mutating func fetchFiles(from storage: UserStorage, into folder: String) throws {
        var paths: [String: String] = [:]
        for file in data.files {
            do {
                let path = try Self.fetch(file, from: storage, into: folder)
                paths[file.file.fileUUID.rawValue] = path
            } catch let error as CloudStorageError {
                if case .contentFailed(let cause) = error { throw cause }
                missingFiles.append(MissingFile(fileUUID: file.file.fileUUID, reason: Self.word(for: error)))
            }
        }
        self.paths = paths
    }

    private static func fetch(
        _ file: PersonalData.OwnFile, from storage: UserStorage, into folder: String
    ) throws -> String {
        var access = storage.access
        access.deadline = .after(.seconds(60))
        let objectID: String
        if let known = file.objectID {
            objectID = known
        } else {
            guard let found = try storage.provider.find(name: file.objectName, in: access) else {
                throw CloudStorageError.notFound
            }
            objectID = found.objectID
        }
        // A group's UUID is text chosen by a client; it must not become a path.
        let group = UUIDFolder.name(of: file.sharingGroupUUID)
        try Directory.make("\(folder)/files/\(group)")
        let path = "files/\(group)/\(file.objectName)"
        let target = try RegularFile("\(folder)/\(path)", for: .writing)
        var offset = 0
        var failure: PosixError?
        do {
            try storage.provider.download(objectID: objectID, from: access) { bytes in
                do throws(PosixError) {
                    try target.write(bytes, at: offset)
                    offset += bytes.count
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            if let failure { throw CloudStorageError.contentFailed(failure) }
            throw error
        }
        return path
    }

    private static func word(for error: CloudStorageError) -> String {
        switch error {
        case .notFound: "it is missing from the person's storage"
        case .authorizationRevoked: "the storage denies access; the person has to sign in again"
        default: "the provider did not return it"
        }
    }
}

/// Converts a group's identifier to a folder name.
private enum UUIDFolder {
    static func name(of group: SharingGroupUUID) -> String {
        let letters = group.rawValue.unicodeScalars.map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar == "-" || (48...57).contains(scalar.value))
                ? Character(scalar) : "_"
        }
        return String(letters)
    }
}
