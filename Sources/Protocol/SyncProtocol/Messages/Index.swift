/// Lists the caller's sharing groups, and the files of one of them if asked for.
public struct IndexRequest: RequestMessage {
    public typealias Response = IndexResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.index
    public static let parameters = ParameterList(
        optional: [.sharingGroupUUID, .since], debugOnly: [.testServerSleep])

    /// The group whose files are wanted.
    public let sharingGroupUUID: SharingGroupUUID?
    /// Only files that changed after this master version are wanted. Only with a group.
    public let since: MasterVersion?
    /// Debug only: seconds to wait before answering.
    public let testServerSleep: Int32?

    /// Puts a request together.
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

/// Lists the caller's groups, and the files of one of them if asked for.
///
/// Servers normally write it with ``IndexResponseWriter``, without holding all files in memory.
public struct IndexResponse: ResponseMessage {
    /// The files of a group together with the master version that they are at.
    public struct Files: Sendable, Hashable {
        /// Describes exactly the files listed.
        public let masterVersion: MasterVersion
        /// If given, only what changed after this master version is listed; else, all files.
        public let since: MasterVersion?
        /// The files of the group, deleted ones included.
        public let fileIndex: [FileInfo]

        /// Puts it together.
        public init(masterVersion: MasterVersion, since: MasterVersion? = nil, fileIndex: [FileInfo]) {
            self.masterVersion = masterVersion
            self.since = since
            self.fileIndex = fileIndex
        }
    }

    /// Only if a group was asked for.
    public let files: Files?
    /// All groups of the caller; a group that is missing here tells the client that it was removed from it.
    public let sharingGroups: [SharingGroupInfo]

    private enum CodingKeys: String, CodingKey {
        case masterVersion, since, fileIndex, sharingGroups
    }

    /// Puts the answer together.
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
