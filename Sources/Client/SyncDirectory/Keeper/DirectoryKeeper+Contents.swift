package import SyncProtocol

extension DirectoryKeeper {
    /// What the directory has of a file's last synchronized contents.
    package enum SynchronizedContents: Sendable, Hashable {
        /// They are at this path.
        case unchanged(RelativePath)
        /// Other contents are there.
        case changed
        /// The file is not here, or cannot be read.
        case missing
    }

    /// Finds the last synchronized contents of a file. A file that was touched since is read.
    package func synchronizedContents(of uuid: FileUUID) -> SynchronizedContents {
        guard let file = record[uuid], !file.pending.contains(.deletion), file.conflict.isEmpty else { return .missing }
        guard let item = try? root.item(at: file.path), case .file(let signature) = item else { return .missing }
        guard !file.pending.contains(.contents) else { return .changed }
        if signature == file.signature { return .unchanged(file.path) }
        guard let reading = try? root.reading(of: file.path) else { return .missing }
        return reading.digest == file.digest ? .unchanged(file.path) : .changed
    }
}
