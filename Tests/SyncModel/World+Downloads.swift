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
        var places = [file.account.provider.storage]
        switch file.contentState {
        case .stored: break
        case .moving: places.append(switches[file.owner.person]?.former.provider.storage)
        case .awaiting: return Self.gone("authTokenExpiredOrRevoked", .text("awaitingReupload"), file)
        case .missing: return Self.gone("fileRemovedOrRenamed", .absent, file)
        }
        return .file(
            file.content,
            .object([
                "checkSum": .oneOf(places.map { .optional($0.flatMap { file.content.checkSums[$0] }) }),
                "contentsChanged": .flag(false),
                "cloudStorageType": .oneOf(places.map(Template.optional)),
                "appMetaData": .optional(file.metadata?.contents),
                "gone": .absent,
            ]))
    }

    /// The reply if the bytes are missing.
    private static func gone(_ reason: String, _ detail: Template, _ file: File) -> Answer {
        .file(
            Content(bytes: [], checkSums: [:]),
            .object([
                "gone": .text(reason), "goneDetail": detail, "checkSum": .absent,
                "cloudStorageType": .optional(file.account.provider.storage),
                "appMetaData": .optional(file.metadata?.contents),
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
