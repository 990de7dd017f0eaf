import Gzip
import OpenSSLCrypto
import Posix
import Store
public import SyncProtocol

/// Copies a backup to another host with the operator's program, and accepts the copy only if the program returns the
/// same bytes.
public struct BackupCopy {
    public static var usualRecord: String { BackupRecord.usualFolder }

    private static let chunkBytes = 256 * 1_024

    private let folder: BackupFolder
    private let program: String
    private let record: String

    /// - Parameters:
    ///   - program: is run as `PROGRAM send NAME` and `PROGRAM fetch NAME`.
    ///   - record: the folder for the record, and for the fetched backup.
    public init(from folder: BackupFolder, by program: String, record: String) {
        self.folder = folder
        self.program = program
        self.record = record
    }

    /// Why there is no good copy.
    public enum Failure: Error, Equatable, CustomStringConvertible {
        case nothingToCopy(folder: String)
        case notRun(program: String, reason: String)
        case refused(step: String, status: Int32)
        case differs(name: String)

        public var description: String {
            switch self {
            case .nothingToCopy(let folder): "there is no backup in \(folder)"
            case .notRun(let program, let reason): "\(program) cannot be run: \(reason)"
            case .refused(let step, let status): "\(step) ended with status \(status): there is no good copy"
            case .differs(let name): "the fetched copy of \(name) differs from the original: there is no good copy"
            }
        }
    }

    /// Sends the newest backup, fetches it, compares both, and records the copy.
    /// - Throws: ``Failure``, ``BackupError``, `GzipError`, ``PosixError``.
    public func copyNewest() throws -> CopyReport {
        guard let date = try folder.backups().last else { throw Failure.nothingToCopy(folder: folder.path) }
        let path = folder.path(of: date)
        let name = BackupFolder.name(of: date)
        // A damaged backup would pass the comparison, but would be useless.
        _ = try BackupReader(path: path).verify()
        try run("send", name, readingFrom: path)
        let fetched = "\(record)/fetched.partial"
        try Directory.removeFile(fetched)
        defer { try? Directory.removeFile(fetched) }
        try run("fetch", name, writingTo: fetched)
        let sum = try Self.sum(of: path)
        guard try Self.sum(of: fetched) == sum else { throw Failure.differs(name: name) }
        try BackupRecord(name: name, takenAt: date).write(.copied, in: record)
        return CopyReport(name: name, takenAt: date, sha256: sum)
    }

    private func run(
        _ verb: String, _ name: String, readingFrom input: String? = nil, writingTo output: String? = nil
    ) throws {
        let status: Int32
        do throws(PosixError) {
            status = try ChildProcess.run([program, verb, name], readingFrom: input, writingTo: output)
        } catch {
            throw Failure.notRun(program: program, reason: "\(error)")
        }
        guard status == 0 else { throw Failure.refused(step: "\(program) \(verb) \(name)", status: status) }
    }

    private static func sum(of path: String) throws -> String {
        let file = try RegularFile(path, for: .reading)
        var digest = IncrementalDigest(.sha256)
        var chunk = [UInt8](repeating: 0, count: chunkBytes)
        var offset = 0
        while true {
            var span = chunk.mutableSpan
            let count = try file.read(into: &span, at: offset)
            guard count > 0 else { return digest.finish().hexLowercase }
            digest.update(chunk[..<count])
            offset += count
        }
    }
}

/// A good copy.
public struct CopyReport: Report {
    public var name: String
    /// The time of the backup's snapshot, UTC.
    public var takenAt: WireDate
    public var sha256: String

    public var lines: [String] { ["copied     \(name), and the fetched copy is identical (SHA-256 \(sha256))"] }
}
