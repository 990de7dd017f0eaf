public import Foundation

/// A folder for one test's files, removed with its contents when the last reference is released.
public final class ScratchFolder: Sendable {
    /// The folder, initially empty.
    public let url: URL
    /// Its path.
    public var path: String { url.path }

    /// Creates a folder in the system's temporary folder; `name` identifies it during a run.
    public init(_ name: String) throws {
        url = FileManager.default.temporaryDirectory.appending(path: "syncserver-\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
