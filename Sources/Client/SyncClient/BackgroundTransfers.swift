import Dispatch
public import Foundation
import Logging
import SyncProtocol
import Synchronization

/// Passes the transfers that a background session completed without the app to a ``SyncServer``.
///
/// The session exists before the ``SyncServer``, whose executor it belongs to, and begins at once to report. This object
/// keeps the reports until ``connect(to:)``. See <doc:TransferringInTheBackground>.
public final class BackgroundTransfers: Sendable {
    private struct State {
        var server: SyncServer?
        var waiting: [CheckedContinuation<SyncServer, Never>] = []
        /// What the app does once all transfers are reported.
        var finish: (@Sendable () -> Void)?
        var areAllReported = false
    }

    private let state = Mutex(State())
    private let folder: URL

    /// - Parameter folder: for downloaded files until the library has moved them, created if missing; on the volume of
    ///   the store's folder.
    public init(folder: URL) { self.folder = folder }

    /// The handlers for the executor with the background session.
    ///
    /// They hold the session's queue until the ``SyncServer`` has stored a transfer, because the system may end the
    /// process afterwards.
    public var handlers: UnattendedTransfers {
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return UnattendedTransfers(folder: folder, ended: { self.store($0) }, allReported: { self.noteAllReported() })
    }

    /// Passes all transfers, including earlier ones, to `server`, which this object retains.
    public func connect(to server: SyncServer) {
        let waiting = state.withLock { state in
            state.server = server
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: server) }
    }

    /// Calls `finish` once when the system has reported all transfers that ended while the app was not running, and they
    /// are stored. Call it from `application(_:handleEventsForBackgroundURLSession:completionHandler:)`; `finish` must
    /// lead to a call of the completion handler, on the main thread. It runs on any thread.
    public func whenAllReported(_ finish: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            if state.areAllReported {
                state.areAllReported = false
                return true
            }
            state.finish = finish
            return false
        }
        if isDue { finish() }
    }

    private func noteAllReported() {
        let finish = state.withLock { state in
            defer { state.finish = nil }
            state.areAllReported = state.finish == nil
            return state.finish
        }
        finish?()
    }

    private func store(_ transfer: UnattendedTransfer) {
        let isStored = DispatchSemaphore(value: 0)
        Task {
            let server = await connected()
            do { try await server.take(transfer) } catch {
                // The next sync transfers the file again.
                server.driver.logger.error("Could not store a transfer", metadata: ["error": "\(error)"])
            }
            isStored.signal()
        }
        isStored.wait()
    }

    private func connected() async -> SyncServer {
        await withCheckedContinuation { continuation in
            let server = state.withLock { state in
                if state.server == nil { state.waiting.append(continuation) }
                return state.server
            }
            if let server { continuation.resume(returning: server) }
        }
    }
}

/// Describes a transfer, as text that the system keeps with it after the process has ended.
enum TransferLabel: Equatable {
    /// An upload of contents as these versions.
    case upload(FileUUID, FileVersion, AppMetaDataVersion?)
    /// A download of contents of these versions.
    case download(FileUUID, FileVersion, AppMetaDataVersion?)

    /// The text.
    var text: String {
        switch self {
        case .upload(let file, let version, let text): Self.text("up", file, version, text)
        case .download(let file, let version, let text): Self.text("down", file, version, text)
        }
    }

    private static func text(
        _ direction: String, _ file: FileUUID, _ version: FileVersion, _ text: AppMetaDataVersion?
    ) -> String {
        "\(direction) \(file.rawValue) \(version.rawValue) \(text.map { String($0.rawValue) } ?? "-")"
    }

    /// Parses a label; nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 4, let file = FileUUID(String(parts[1])), let version = Int32(parts[2]),
            parts[3] == "-" || Int32(parts[3]) != nil
        else { return nil }
        let textVersion = Int32(parts[3]).map { AppMetaDataVersion($0) }
        switch parts[0] {
        case "up": self = .upload(file, FileVersion(version), textVersion)
        case "down": self = .download(file, FileVersion(version), textVersion)
        default: return nil
        }
    }
}
