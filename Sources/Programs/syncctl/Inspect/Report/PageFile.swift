import Posix

/// The file that a page is written to: a new one, or a replacement of a regular file.
struct PageFile {
    /// The mode of a new file; its owner may share it.
    private static let permissions: UInt32 = 0o640

    let path: String
    private let isNew: Bool

    /// - Throws: ``CommandFailure`` if the path is a folder, a link, a device or the like, or if its folder is missing
    ///   or not writable.
    init(_ path: String) throws(CommandFailure) {
        self.path = path
        isNew = !AtomicFile.exists(path)
        guard isNew ? !path.isEmpty : AtomicFile.isRegular(path) else {
            throw CommandFailure(
                .foundSomething, "\(path.isEmpty ? "an empty name" : path) is not a regular file; nothing was written")
        }
        do throws(PosixError) { try AtomicFile.requireWritableFolder(of: path) } catch { throw failure(error) }
    }

    /// Writes the complete file or, on failure, leaves it unchanged. An existing file keeps its owner and permissions.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        do throws(PosixError) {
            if isNew {
                try AtomicFile.write(bytes, to: path, permissions: Self.permissions)
            } else {
                try AtomicFile.write(bytes, to: path, like: path)
            }
        } catch { throw failure(error) }
    }

    private func failure(_ error: PosixError) -> CommandFailure {
        CommandFailure(error.isDenial ? .noPermission : .foundSomething, "\(path) cannot be written: \(error)")
    }
}
