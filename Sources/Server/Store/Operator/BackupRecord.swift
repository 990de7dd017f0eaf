import FoundationEssentials
public import Posix
public import SyncProtocol

/// A host's record of its last good backup, or of its last good off-host copy, so that monitoring detects when backups
/// or copies stop. Not stored in the database, because the record is needed most when the database is lost.
public struct BackupRecord: Codable, Equatable, Sendable {
    /// The kind of record.
    public enum Kind: String, CaseIterable, Sendable {
        /// A backup was written and verified.
        case made
        /// The backup was sent off this host and fetched back, and was identical.
        case copied
    }

    /// Where the units store these records, readable by everyone.
    public static var usualFolder: String { HostedApp.current.backupRecordFolder }

    /// The name of the backup's file.
    public var name: String
    /// The time of its snapshot, UTC.
    public var takenAt: WireDate

    public init(name: String, takenAt: WireDate) {
        self.name = name
        self.takenAt = takenAt
    }

    /// - Throws: ``PosixError``; `ENOENT` if nothing was ever recorded, `EINVAL` if the record is malformed.
    public init(_ kind: Kind, in folder: String) throws(PosixError) {
        let bytes = try TextFile.read(Self.path(kind, folder))
        guard let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else {
            throw PosixError(call: "read", code: PosixError.invalid)
        }
        self = record
    }

    /// Replaces the previous record.
    /// - Throws: ``PosixError``.
    public func write(_ kind: Kind, in folder: String) throws {
        try AtomicFile.write([UInt8](try JSONEncoder().encode(self)), to: Self.path(kind, folder), permissions: 0o644)
    }

    private static func path(_ kind: Kind, _ folder: String) -> String { "\(folder)/\(kind.rawValue).json" }
}
