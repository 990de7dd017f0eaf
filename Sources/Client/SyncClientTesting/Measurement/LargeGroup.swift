internal import Foundation
internal import SyncEngine
internal import SyncProtocol
internal import SyncStore

/// Measures a client's cost of a sharing group with many files: the engine and its store on disk, with a server that
/// answers immediately.
public final class LargeGroup {
    /// The cost of a sync or another step.
    public struct Cost: Sendable {
        /// The name of the step.
        public let name: String
        /// The duration in seconds, including the model of the server.
        public let seconds: Double
        /// Requests that were sent.
        public let requests: Int
        /// Transactions of the store.
        public let transactions: Int
        /// Rows that were written or removed.
        public let writtenRows: Int
        /// Files that were delivered to the app.
        public let deliveredFiles: Int
        /// Resident memory afterwards, in bytes; nil if the system does not report it. Includes the model of the server
        /// and the client that uploaded the files.
        public let residentBytes: Int?
    }

    private let clock = ContinuousClock()
    private let group: SharingGroupUUID
    private let files: [FileUUID]
    private let folder: URL
    private var costs: [Cost] = []

    /// Uploads `count` files on one device, downloads them on another, and continues from there.
    /// - Returns: In this order, the costs of: queueing the uploads, sending them, their first download, a sync with
    ///   nothing to do, one changed file, and a relaunch.
    /// - Throws: Errors of the file system and the store.
    public static func measure(files count: Int) throws -> [Cost] {
        let measurement = try LargeGroup(count)
        defer { try? FileManager.default.removeItem(at: measurement.folder) }
        try measurement.run()
        return measurement.costs
    }

    private init(_ count: Int) throws {
        guard let group = SharingGroupUUID(Self.uuid(0)) else { preconditionFailure("the text is a UUID") }
        self.group = group
        files = (1...count).compactMap { FileUUID(Self.uuid($0)) }
        folder = FileManager.default.temporaryDirectory.appending(path: "LargeGroup-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private static func uuid(_ number: Int) -> String {
        let digits = String(number)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private func run() throws {
        let server = ModelServer(capabilities: .all)
        server.users = [UserID(1)]
        server.addGroup(group, name: "Album", admin: UserID(1))
        let sender = try client(of: server, "A")
        let receiver = try client(of: server, "B")
        try sender.sync(nil)
        try receiver.sync(nil)
        let (group, files) = (group, files)
        try measure("queue \(files.count) uploads", sender) { for file in files { try $0.upload(file, in: group) } }
        try measure("send them", sender) { try $0.sync(group) }
        try measure("download them", receiver) { try $0.sync(group) }
        try measure("sync without a change", receiver) { try $0.sync(group) }
        try sender.upload(files[files.count / 2], in: group)
        try sender.sync(group)
        try measure("sync of one changed file", receiver) { try $0.sync(group) }
        var relaunched: DirectClient?
        try measure("launch", receiver) { _ in relaunched = try client(of: server, "B") }
        guard sender.errors.isEmpty, receiver.errors.isEmpty, relaunched?.errors.isEmpty == true else {
            preconditionFailure("a sync without faults has failed")
        }
    }

    private func client(of server: ModelServer, _ name: String) throws -> DirectClient {
        guard let device = DeviceUUID("00000000-0000-4000-8000-00000000000\(name)") else {
            preconditionFailure("the text is a UUID")
        }
        return try DirectClient(
            server, user: UserID(1), device: device,
            database: try ClientDatabase(path: folder.appending(path: "\(name).sqlite").path))
    }

    private func measure(
        _ name: String, _ client: DirectClient, _ body: (DirectClient) throws -> Void
    ) throws {
        let before = (client.requests, client.transactions, client.writtenRows, client.deliveredFiles)
        let time = try clock.measure { try body(client) }
        costs.append(
            Cost(
                name: name, seconds: time / .seconds(1), requests: client.requests - before.0,
                transactions: client.transactions - before.1, writtenRows: client.writtenRows - before.2,
                deliveredFiles: client.deliveredFiles - before.3, residentBytes: ProcessMemory.residentBytes))
    }
}
