package import SyncProtocol

extension DirectoryKeeper {
    /// Whether the directory has a file's last synchronized contents.
    package enum SynchronizedContents: Sendable, Hashable {
        /// They are at this path.
        case unchanged(RelativePath)
        /// The contents differ.
        case changed
        /// The file is not here, or cannot be read.
        case missing
    }

    /// Finds the last synchronized contents of a file. Reads a file that was touched since.
    package func synchronizedContents(of uuid: FileUUID) -> SynchronizedContents {
        guard let file = record[uuid], !file.pending.contains(.deletion), file.conflict.isEmpty else { return .missing }
        guard let item = try? root.item(at: file.path), case .file(let signature) = item else { return .missing }
        guard !file.pending.contains(.contents) else { return .changed }
        if signature == file.signature { return .unchanged(file.path) }
        guard let reading = try? root.reading(of: file.path) else { return .missing }
        return reading.digest == file.digest ? .unchanged(file.path) : .changed
    }
}
