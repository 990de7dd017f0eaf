extension TestUser {
    /// Calls UploadDeletion; the reply may be an error.
    public func delete(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, overriding: [String: String?] = [:]
    ) throws -> HTTPReply {
        let parameters: [String: String?] = [
            "fileUUID": file.uuid, "fileVersion": String(file.version), "masterVersion": String(masterVersion),
            "sharingGroupUUID": group ?? self.group,
        ]
        return try call("DELETE", "UploadDeletion", parameters.merging(overriding) { $1 })
    }

    /// Calls UploadDeletion, which must stage the deletion.
    public func stageDeletion(of file: TestFile, masterVersion: Int64, group: String? = nil) throws {
        let reply = try delete(file, masterVersion: masterVersion, group: group)
        guard reply.status == 200, reply.json == .object([:]) else { throw UnexpectedReply("UploadDeletion", reply) }
    }

    /// Stages and commits the deletion of one file.
    public func deleteAndCommit(_ file: TestFile, masterVersion: Int64, group: String? = nil) throws {
        try stageDeletion(of: file, masterVersion: masterVersion, group: group)
        let count = try commitStaged(masterVersion: masterVersion, group: group)
        guard count == 1 else { throw NotEventually(expectation: "a commit of one deletion, not of \(count) rows") }
    }

    /// Calls UploadAppMetaData; the reply may be an error.
    public func changeMetadata(
        of file: TestFile, _ metadata: TestMetadata?, masterVersion: Int64, group: String? = nil
    ) throws -> HTTPReply {
        try call(
            "POST", "UploadAppMetaData",
            [
                "fileUUID": file.uuid, "appMetaData": metadata?.parameter, "masterVersion": String(masterVersion),
                "sharingGroupUUID": group ?? self.group,
            ])
    }

    /// Calls UploadAppMetaData, which must stage the change.
    public func stageMetadata(
        of file: TestFile, _ metadata: TestMetadata, masterVersion: Int64, group: String? = nil
    ) throws {
        let reply = try changeMetadata(of: file, metadata, masterVersion: masterVersion, group: group)
        guard reply.status == 200, reply.json == .object([:]) else {
            throw UnexpectedReply("UploadAppMetaData", reply)
        }
    }

    /// Calls DownloadAppMetaData; the reply may be an error.
    public func downloadMetadata(
        of file: TestFile, version: Int, masterVersion: Int64, group: String? = nil
    ) throws -> HTTPReply {
        try call(
            "GET", "DownloadAppMetaData",
            [
                "fileUUID": file.uuid, "appMetaDataVersion": String(version), "masterVersion": String(masterVersion),
                "sharingGroupUUID": group ?? self.group,
            ])
    }
}
