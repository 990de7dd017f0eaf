/// docs/protocol.md §8.6.
extension World {
    func index(_ uuid: String?, since: Int?, for person: Person) throws(Refusal) -> Answer {
        var members: [String: Template] = [
            "sharingGroups": .list(
                groups.filter { $0.value.members[person] != nil }.sorted { $0.key < $1.key }
                    .map { entry(of: $0.key, $0.value, for: person) },
                by: "sharingGroupUUID")
        ]
        if let uuid {
            guard let group = groups[uuid], group.members[person] != nil else { throw .groupUnknown }
            members["masterVersion"] = .integer(group.masterVersion)
            // A version that the group has not reached returns all files.
            let since = since.flatMap { $0 <= group.masterVersion ? $0 : nil }
            members["since"] = .optional(since)
            members["fileIndex"] = .list(
                group.files.filter { $0.value.changedAt > since ?? -1 }.sorted { $0.key < $1.key }.map {
                    entry(of: $0.key, $0.value, in: uuid)
                },
                by: "fileUUID")
        } else {
            members["masterVersion"] = .absent
            members["fileIndex"] = .absent
        }
        return .success(.object(members))
    }

    private func entry(of uuid: String, _ group: Group, for person: Person) -> Template {
        let member = group.members[person]
        return .object([
            "sharingGroupUUID": .text(uuid),
            "sharingGroupName": .optional(group.name),
            "deleted": .flag(false),
            "masterVersion": .integer(group.masterVersion),
            "permission": .optional(member?.permission.rawValue),
            "sharingGroupUsers": .list(
                group.members.keys.sorted { $0.name < $1.name }.map {
                    .object(["name": .text($0.name), "userId": .optional(users[$0])])
                },
                by: "name"),
            "cloudStorageType": .optional(
                account(of: person).bringsStorage ? nil : member?.owner.flatMap(storage)),
            "restoreMark": .absent,
            "restoredMasterVersion": .absent,
        ])
    }

    private func entry(of uuid: String, _ file: File, in group: String) -> Template {
        .object([
            "fileUUID": .text(uuid),
            "sharingGroupUUID": .text(group),
            "fileGroupUUID": .optional(file.fileGroup),
            "deviceUUID": .text(file.device),
            "creationDate": .chosen(file.created),
            "updateDate": .chosen(file.updated),
            "mimeType": .text(file.mimeType),
            "fileVersion": .integer(file.version),
            "deleted": .flag(file.isDeleted),
            "appMetaDataVersion": .optional(file.metadata?.version),
            "appMetaData": .absent,
            "owningUserId": .chosen(file.owner.user),
            "cloudStorageType": .optional(file.account.provider.storage),
            "awaitingReupload": file.contentState.asFlag,
        ])
    }
}

extension ContentState {
    /// `awaitingReupload`.
    fileprivate var asFlag: Template {
        switch self {
        case .stored, .missing: .absent
        case .awaiting: .flag(true)
        case .moving: .oneOf([.flag(true), .absent])
        }
    }
}

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
