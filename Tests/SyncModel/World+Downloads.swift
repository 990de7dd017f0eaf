/// docs/protocol.md §8.12 and §8.13.
extension World {
    func download(
        _ selection: Request.FileSelection, _ version: Int, _ metadataVersion: Int?, by person: Person
    ) throws(Refusal) -> Answer {
        let group = try group(selection.group.group, for: person, needing: .read).group
        guard group.masterVersion == selection.group.masterVersion else { return .stale(group.masterVersion) }
        guard let file = group.files[selection.file] else { throw .fileUnknown }
        guard !file.isDeleted else { throw .fileDeleted }
        guard version == file.version else { throw .fileVersionMismatch }
        guard metadataVersion == file.metadata?.version else { throw .metadataVersionMismatch }
        let storage = file.owner.person.provider.storage
        return .file(
            file.content,
            .object([
                "checkSum": .optional(storage.flatMap { file.content.checkSums[$0] }),
                "contentsChanged": .flag(false),
                "cloudStorageType": .optional(storage),
                "appMetaData": .optional(file.metadata?.contents),
                "gone": .absent,
            ]))
    }

    func downloadMetadata(
        of selection: Request.FileSelection, _ version: Int, by person: Person
    ) throws(Refusal) -> Answer {
        let group = try group(selection.group.group, for: person, needing: .read).group
        guard group.masterVersion == selection.group.masterVersion else { return .stale(group.masterVersion) }
        guard let file = group.files[selection.file] else { throw .fileUnknown }
        guard !file.isDeleted else { throw .fileDeleted }
        guard let metadata = file.metadata else { throw .metadataUnknown }
        guard version == metadata.version else { throw .metadataVersionMismatch }
        return .success(.object(["appMetaData": .text(metadata.contents)]))
    }
}
