import Foundation
import SyncProtocol
import Testing

@testable import SyncDirectory

/// A test's directory with its keeper, and functions that change it as a user would.
final class Desk {
    let folder = FileManager.default.temporaryDirectory.appending(path: "desk-\(UUID().uuidString)")
    let store: RecordStore
    private(set) var keeper: DirectoryKeeper
    private let person: String
    private var clock: @Sendable () -> Date
    private let adjust: (inout DirectoryKeeper.Options) -> Void

    init(
        _ person: String = "Ada", now: @escaping @Sendable () -> Date = { Date() },
        adjust: @escaping (inout DirectoryKeeper.Options) -> Void = { _ in }
    ) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.person = person
        clock = now
        store = try RecordStore(path: nil)
        self.adjust = adjust
        keeper = try Self.keeper(folder, store, person, now, adjust)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private static func keeper(
        _ folder: URL, _ store: RecordStore, _ person: String, _ now: @escaping @Sendable () -> Date,
        _ adjust: (inout DirectoryKeeper.Options) -> Void
    ) throws -> DirectoryKeeper {
        let root = try DirectoryRoot(path: folder.path)
        var options = DirectoryKeeper.Options(
            person: person, quietPeriod: .zero, mimeType: { _ in MIMEType("text/plain")! }, now: now)
        adjust(&options)
        return DirectoryKeeper(
            root: root, record: try DirectoryRecord(store, ignoresCase: root.ignoresCase),
            options: options)
    }

    /// Simulates a new process.
    func restart(now: (@Sendable () -> Date)? = nil) throws {
        if let now { clock = now }
        keeper = try Self.keeper(folder, store, person, clock, adjust)
        try keeper.recover()
    }

    func url(_ path: String) -> URL { folder.appending(path: path) }

    func write(_ path: String, _ text: String) throws {
        try FileManager.default.createDirectory(
            at: url(path).deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url(path))
    }

    func read(_ path: String) -> String? { try? String(contentsOf: url(path), encoding: .utf8) }

    func move(_ old: String, _ new: String) throws {
        try FileManager.default.createDirectory(
            at: url(new).deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.moveItem(at: url(old), to: url(new))
    }

    func remove(_ path: String) throws { try FileManager.default.removeItem(at: url(path)) }

    /// All regular files with their contents.
    var files: [String: String] {
        get throws {
            try keeper.root.scan(IgnoreRules()).files.keys.reduce(into: [:]) { $0[$1.text] = read($1.text) }
        }
    }

    /// Incoming files that have not been moved to their place or removed.
    var incoming: [String] { get throws { try keeper.root.incomingNames() } }

    /// Scans, and accepts all work as the library would.
    @discardableResult
    func work() throws -> [DirectoryKeeper.Work] {
        try keeper.look()
        let work = try keeper.work(limit: 1_000)
        for one in work { try keeper.accepted(one) }
        return work
    }

    /// The file at a path.
    func file(_ path: String) throws -> RecordedFile {
        try #require(keeper.record.file(at: RelativePath(path)!))
    }

    /// Creates a file that exists locally and on the server.
    func publish(_ path: String, _ text: String) throws -> RecordedFile {
        try write(path, text)
        try work()
        try keeper.committed()
        return try file(path)
    }

    /// Delivers a file's contents.
    @discardableResult
    func deliver(
        _ text: String, as uuid: FileUUID, at path: String?, by person: String = "Bob",
        modified: Int64 = 1_700_000_000_000
    ) throws -> DeliveryOutcome {
        let source = FileManager.default.temporaryDirectory.appending(path: "delivery-\(UUID().uuidString)")
        try Data(text.utf8).write(to: source)
        defer { try? FileManager.default.removeItem(at: source) }
        return try keeper.deliver(
            Delivery(
                fileUUID: uuid, kind: .contents(source),
                appMetaData: path.map { #"{"path":\#(json($0)),"modified":\#(modified),"by":"\#(person)"}"# },
                mimeType: MIMEType("text/plain"), updateDate: Date(timeIntervalSince1970: 1_700_000_000)))
    }

    /// Delivers a file's new path.
    @discardableResult
    func deliver(path: String, of uuid: FileUUID) throws -> DeliveryOutcome {
        try keeper.deliver(
            Delivery(
                fileUUID: uuid, kind: .description, appMetaData: #"{"path":\#(json(path)),"modified":1,"by":"Bob"}"#))
    }

    func deliverDeletion(of uuid: FileUUID) throws {
        _ = try keeper.deliver(Delivery(fileUUID: uuid, kind: .deletion))
    }

    private func json(_ text: String) -> String {
        String(decoding: try! JSONEncoder().encode(text), as: UTF8.self)
    }
}

extension FileUUID {
    /// A UUID that begins with a digit, so that it sorts before or after others.
    static func of(_ digit: Int) -> FileUUID { FileUUID("\(digit)0000000-0000-4000-8000-00000000000\(digit)")! }

    static var fresh: FileUUID { FileUUID(UUID().uuidString)! }
}
