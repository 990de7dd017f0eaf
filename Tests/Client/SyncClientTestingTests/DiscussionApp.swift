import Foundation
import Logging
import SyncClient
import SyncClientTesting
import Synchronization

/// A small app with discussion threads: one file per thread, one line per message.
final class DiscussionApp: SyncServerDelegate {
    /// Sends its changes to the server, and receives those of others.
    let client: SyncServer
    private let group: SharingGroupUUID
    private let threads: Threads

    /// - Parameter resolver: Nil merges threads.
    init(_ launch: SimulatedLaunch, resolver: ConflictResolver? = nil, logger: Logger? = nil) throws {
        let threads = try Threads(launch.folder.appending(path: "threads"))
        self.threads = threads
        group = launch.sharingGroupUUID
        client = try launch.makeClient { configuration in
            configuration.conflictResolver =
                resolver
                ?? .merge { conflict in
                    MergedFile(file: try threads.merge(conflict.serverFile, into: conflict.attributes.fileUUID))
                }
            if let logger { configuration.logger = logger }
        }
        client.delegate = self
    }

    /// Adds a message to a thread, and sends it as soon as possible.
    func say(_ message: String, in thread: FileUUID) throws {
        let file = try threads.append(message, to: thread)
        try client.uploadCopy(
            localFile: client.location(of: file),
            withAttributes: SyncAttributes(
                fileUUID: thread, sharingGroupUUID: group, mimeType: MIMEType("text/plain")))
        try client.sync(sharingGroupUUID: group)
    }

    func refresh() throws { try client.sync(sharingGroupUUID: group) }

    /// The messages of a thread.
    func messages(of thread: FileUUID) -> Set<String> { threads.messages(of: thread) }

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        for operation in group {
            guard case .file(let location, _) = operation.kind, let file = client.url(of: location) else { continue }
            try threads.replace(operation.attributes.fileUUID, with: file)
        }
    }

    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws {}
}

/// The app's own files.
private final class Threads: Sendable {
    private let folder: URL
    private let lock = Mutex(())

    init(_ folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func url(of thread: FileUUID) -> URL { folder.appending(path: thread.rawValue) }

    private func lines(_ url: URL) -> [String] {
        guard let data = try? Data(contentsOf: url) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    func messages(of thread: FileUUID) -> Set<String> { lock.withLock { _ in Set(lines(url(of: thread))) } }

    func append(_ message: String, to thread: FileUUID) throws -> URL {
        try lock.withLock { _ in try write(lines(url(of: thread)) + [message], to: thread) }
    }

    /// Merges the server's messages into its own; repeating it changes nothing.
    func merge(_ serverFile: URL?, into thread: FileUUID) throws -> URL {
        try lock.withLock { _ in
            let own = lines(url(of: thread))
            let others = serverFile.map(lines) ?? []
            return try write(others + own.filter { !others.contains($0) }, to: thread)
        }
    }

    func replace(_ thread: FileUUID, with file: URL) throws {
        try lock.withLock { _ in _ = try write(lines(file), to: thread) }
    }

    private func write(_ lines: [String], to thread: FileUUID) throws -> URL {
        try Data(lines.joined(separator: "\n").utf8).write(to: url(of: thread), options: .atomic)
        return url(of: thread)
    }
}
