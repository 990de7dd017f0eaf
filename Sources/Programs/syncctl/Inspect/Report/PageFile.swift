import Posix

/// The file that a page is written to: a new one, or one that takes the place of a regular file.
struct PageFile {
    /// Of a new file: its owner's to share.
    private static let permissions: UInt32 = 0o640

    let path: String
    private let isNew: Bool

    /// - Throws: ``CommandFailure`` if something else is there, such as a folder, a link or a device, or if its folder is
    ///   missing or must not be written to.
    init(_ path: String) throws(CommandFailure) {
        self.path = path
        isNew = !AtomicFile.exists(path)
        guard isNew ? !path.isEmpty : AtomicFile.isRegular(path) else {
            throw CommandFailure(
                .foundSomething, "\(path.isEmpty ? "an empty name" : path) is no regular file, and is left alone")
        }
        do throws(PosixError) { try AtomicFile.requireWritableFolder(of: path) } catch { throw failure(error) }
    }

    /// The file is complete or, if this fails, as it was. An existing one keeps its owner and permissions.
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
