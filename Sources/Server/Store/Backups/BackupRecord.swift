import FoundationEssentials
public import Posix
public import SyncProtocol

/// What a host remembers of its last good backup, or of its last good copy elsewhere, for those who have to notice when
/// none is made any more. It is not in the database: whoever has lost that wants to know it most.
public struct BackupRecord: Codable, Equatable, Sendable {
    /// Which of both.
    public enum Kind: String, CaseIterable, Sendable {
        /// A backup was written and verified.
        case made
        /// A backup was sent elsewhere, fetched from there again, and was the same.
        case copied
    }

    /// Where the units keep these records. Everybody may read them.
    public static var usualFolder: String { HostedApp.current.backupRecordFolder }

    /// The name of the backup's file.
    public var name: String
    /// The time of its snapshot, UTC.
    public var takenAt: WireDate

    public init(name: String, takenAt: WireDate) {
        self.name = name
        self.takenAt = takenAt
    }

    /// - Throws: ``PosixError``; `ENOENT` if nothing was ever recorded, `EINVAL` if the record is none.
    public init(_ kind: Kind, in folder: String) throws(PosixError) {
        let bytes = try TextFile.read(Self.path(kind, folder))
        guard let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else {
            throw PosixError(call: "read", code: PosixError.invalid)
        }
        self = record
    }

    /// Replaces the former record.
    /// - Throws: ``PosixError``.
    public func write(_ kind: Kind, in folder: String) throws {
        try AtomicFile.write([UInt8](try JSONEncoder().encode(self)), to: Self.path(kind, folder), permissions: 0o644)
    }

    private static func path(_ kind: Kind, _ folder: String) -> String { "\(folder)/\(kind.rawValue).json" }
}
