public import Foundation

/// A folder for one test's files, removed with all that is in it when the last reference to it goes.
public final class ScratchFolder: Sendable {
    /// The folder, which exists and is empty at first.
    public let url: URL
    /// Its path.
    public var path: String { url.path }

    /// Makes a folder below the system's for temporary files; `name` is a word for whoever finds it during a run.
    public init(_ name: String) throws {
        url = FileManager.default.temporaryDirectory.appending(path: "syncserver-\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}
