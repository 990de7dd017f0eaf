/// Lists the caller's sharing groups, and the files of one of them if requested.
public struct IndexRequest: RequestMessage {
    public typealias Response = IndexResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.index
    public static let parameters = ParameterList(
        optional: [.sharingGroupUUID, .since], debugOnly: [.testServerSleep])

    /// The group whose files are requested.
    public let sharingGroupUUID: SharingGroupUUID?
    /// Requests only files that changed after this master version. Only with a group.
    public let since: MasterVersion?
    /// Debug only: seconds to wait before replying.
    public let testServerSleep: Int32?

    /// Creates a request.
    public init(
        sharingGroupUUID: SharingGroupUUID? = nil, since: MasterVersion? = nil, testServerSleep: Int32? = nil
    ) {
        self.sharingGroupUUID = sharingGroupUUID
        self.since = since
        self.testServerSleep = testServerSleep
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.optional(.sharingGroupUUID)
        since = try query.optional(.since)
        guard since == nil || sharingGroupUUID != nil else { throw .missing(.sharingGroupUUID) }
        testServerSleep = try query.optional(.testServerSleep)
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.since, since)
        encoder.add(.testServerSleep, testServerSleep)
    }
}

/// Lists the caller's groups, and the files of one of them if requested.
///
/// Servers normally write it with ``IndexResponseWriter``, without holding all files in memory.
public struct IndexResponse: ResponseMessage {
    /// The files of a group together with their master version.
    public struct Files: Sendable, Hashable {
        /// The master version that exactly describes the listed files.
        public let masterVersion: MasterVersion
        /// If present, only what changed after this master version is listed; otherwise all files are.
        public let since: MasterVersion?
        /// The files of the group, including deleted ones.
        public let fileIndex: [FileInfo]

        /// Creates a list of files.
        public init(masterVersion: MasterVersion, since: MasterVersion? = nil, fileIndex: [FileInfo]) {
            self.masterVersion = masterVersion
            self.since = since
            self.fileIndex = fileIndex
        }
    }

    /// Only if a group was requested.
    public let files: Files?
    /// All groups of the caller; a missing group means that the client's user was removed from it.
    public let sharingGroups: [SharingGroupInfo]

    private enum CodingKeys: String, CodingKey {
        case masterVersion, since, fileIndex, sharingGroups
    }

    /// Creates a response.
    public init(files: Files?, sharingGroups: [SharingGroupInfo]) {
        self.files = files
        self.sharingGroups = sharingGroups
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sharingGroups = try container.decode([SharingGroupInfo].self, forKey: .sharingGroups)
        files = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersion).map { masterVersion in
            Files(
                masterVersion: masterVersion,
                since: try container.decodeIfPresent(MasterVersion.self, forKey: .since),
                fileIndex: try container.decodeIfPresent([FileInfo].self, forKey: .fileIndex) ?? [])
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if let files {
                writer.field("masterVersion", files.masterVersion)
                writer.field("since", files.since)
                writer.key("fileIndex")
                writer.array { writer in
                    for file in files.fileIndex { file.write(to: &writer) }
                }
            }
            writer.key("sharingGroups")
            writer.array { writer in
                for group in sharingGroups { group.write(to: &writer) }
            }
        }
    }
}
