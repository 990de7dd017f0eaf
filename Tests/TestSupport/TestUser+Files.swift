import Foundation

/// App metadata as sent: a version and an arbitrary text.
public struct TestMetadata: Sendable {
    /// The version, 0 for the first.
    public var version: Int
    /// The contents, often also JSON.
    public var contents: String

    /// Creates metadata from their parts.
    public init(_ version: Int, _ contents: String) {
        self.version = version
        self.contents = contents
    }

    /// The JSON text of the parameter, with `/` escaped as by deployed clients.
    public var parameter: String {
        var text = "{\"version\":\(version),\"contents\":\""
        for scalar in contents.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "/": text += "\\/"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 32:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\"}"
    }
}

extension TestUser {
    /// The parameters of an upload; `overriding` replaces parameters, or removes them with nil.
    public func uploadParameters(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, metadata: TestMetadata? = nil,
        overriding: [String: String?] = [:]
    ) -> [String: String?] {
        let parameters: [String: String?] = [
            "fileUUID": file.uuid, "sharingGroupUUID": group ?? self.group, "mimeType": file.mimeType,
            "fileVersion": String(file.version), "masterVersion": String(masterVersion), "checkSum": file.checkSum,
            "fileGroupUUID": file.fileGroup, "appMetaData": metadata?.parameter,
        ]
        return parameters.merging(overriding) { $1 }
    }

    /// Calls UploadFile; the reply may be an error.
    public func upload(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, metadata: TestMetadata? = nil,
        overriding: [String: String?] = [:]
    ) throws -> HTTPReply {
        try call(
            "POST", "UploadFile",
            uploadParameters(
                file, masterVersion: masterVersion, group: group, metadata: metadata, overriding: overriding),
            body: file.contents)
    }

    /// Begins an UploadFile request that announces the complete file and sends only `count` bytes of it.
    public func beginUpload(_ file: TestFile, sending count: Int) throws -> HTTPConversation {
        let query = ClientQuery.text(uploadParameters(file, masterVersion: 0))
        let call = HTTPCall("POST", "/UploadFile/\(query)", headers: headers)
        let conversation = try HTTPConversation(to: server.address)
        try conversation.send(call.head(for: server.address, contentLength: file.contents.count))
        try conversation.send(file.contents.prefix(count))
        return conversation
    }

    /// Calls UploadFile, which must stage the file, and returns the header's JSON.
    @discardableResult
    public func stage(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, metadata: TestMetadata? = nil,
        overriding: [String: String?] = [:]
    ) throws -> JSONValue {
        let reply = try upload(
            file, masterVersion: masterVersion, group: group, metadata: metadata, overriding: overriding)
        guard reply.status == 200, let json = reply.messageParameters, json.creationDate?.text != nil,
            json.updateDate?.text != nil, json.masterVersionUpdate == nil
        else { throw UnexpectedReply("UploadFile", reply) }
        return json
    }

    /// Calls DoneUploads; the reply may be an error.
    public func commit(
        masterVersion: Int64, group: String? = nil, overriding: [String: String?] = [:]
    ) throws -> HTTPReply {
        let parameters: [String: String?] = [
            "masterVersion": String(masterVersion), "sharingGroupUUID": group ?? self.group,
        ]
        return try call("POST", "DoneUploads", parameters.merging(overriding) { $1 })
    }

    /// Calls DoneUploads, which must succeed, and returns the number of committed rows.
    @discardableResult
    public func commitStaged(masterVersion: Int64, group: String? = nil) throws -> Int64 {
        let reply = try commit(masterVersion: masterVersion, group: group)
        guard reply.status == 200, let count = reply.json?.numberUploadsTransferred?.integer,
            reply.json?.masterVersionUpdate == nil
        else { throw UnexpectedReply("DoneUploads", reply) }
        return count
    }

    /// Stages and commits one file; afterwards, the master version is `masterVersion` + 1.
    @discardableResult
    public func publish(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, metadata: TestMetadata? = nil
    ) throws -> JSONValue {
        let dates = try stage(file, masterVersion: masterVersion, group: group, metadata: metadata)
        let reply = try commit(masterVersion: masterVersion, group: group)
        guard reply.json?.numberUploadsTransferred?.integer == 1 else { throw UnexpectedReply("DoneUploads", reply) }
        return dates
    }

    /// Calls GetUploads, which must succeed, and returns the rows that this device has staged in the group.
    public func stagedUploads(group: String? = nil) throws -> [JSONValue] {
        let reply = try call("GET", "GetUploads", ["sharingGroupUUID": group ?? self.group])
        guard reply.status == 200, let uploads = reply.json?.uploads?.array else {
            throw UnexpectedReply("GetUploads", reply)
        }
        return uploads
    }

    /// The parameters of a download.
    public func downloadParameters(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, metadataVersion: Int? = nil
    ) -> [String: String?] {
        [
            "fileUUID": file.uuid, "fileVersion": String(file.version), "masterVersion": String(masterVersion),
            "sharingGroupUUID": group ?? self.group, "appMetaDataVersion": metadataVersion.map(String.init),
        ]
    }

    /// Calls DownloadFile; the reply may be an error.
    public func download(
        _ file: TestFile, masterVersion: Int64, group: String? = nil, metadataVersion: Int? = nil,
        headers: [(name: String, value: String)] = []
    ) throws -> HTTPReply {
        try server.call(
            "GET", "DownloadFile",
            downloadParameters(file, masterVersion: masterVersion, group: group, metadataVersion: metadataVersion),
            headers: self.headers + headers)
    }

    /// The objects of all versions of a file in this person's storage.
    public func stored(_ file: TestFile) throws -> [StoredFile] {
        try server.sandbox.files(of: account).filter { $0.name.hasPrefix(file.uuid) }
    }
}
