/// Withdraws what this user has staged on this device in one group: all of it, or that of some files, or of a batch.
public struct DiscardUploadsRequest: RequestMessage {
    public typealias Response = DiscardUploadsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.discardUploads
    public static let parameters = ParameterList(required: [.sharingGroupUUID], optional: [.fileUUIDs, .batchUUID])

    /// How many files one request may name.
    public static let maximumFiles = 1_000

    /// The group; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID
    /// Only changes of these files.
    public let fileUUIDs: [FileUUID]?
    /// Only changes of this batch.
    public let batchUUID: BatchUUID?

    /// Puts a request together.
    public init(sharingGroupUUID: SharingGroupUUID, fileUUIDs: [FileUUID]? = nil, batchUUID: BatchUUID? = nil) {
        self.sharingGroupUUID = sharingGroupUUID
        self.fileUUIDs = fileUUIDs
        self.batchUUID = batchUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.requiredGroupAsUUID()
        fileUUIDs = try query.text(.fileUUIDs).map { text throws(RequestError) in try Self.files(text) }
        batchUUID = try query.optional(.batchUUID)
    }

    private static func files(_ text: String) throws(RequestError) -> [FileUUID] {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= maximumFiles else { throw .outOfRange(.fileUUIDs, allowed: 1...Int64(maximumFiles)) }
        var files: [FileUUID] = []
        for part in parts {
            guard let file = FileUUID(String(part)) else { throw .malformed(.fileUUIDs, expected: .uuids) }
            files.append(file)
        }
        return files
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
        encoder.add(.fileUUIDs, fileUUIDs.map { $0.map(\.rawValue).joined(separator: ",") })
        encoder.add(.batchUUID, batchUUID)
    }
}

/// Tells how much was withdrawn.
public struct DiscardUploadsResponse: ResponseMessage {
    /// Uploads, metadata changes and deletions together; 0 if nothing was staged, or no longer.
    public let numberUploadsDiscarded: Int32

    /// Puts the answer together.
    public init(numberUploadsDiscarded: Int32) {
        self.numberUploadsDiscarded = numberUploadsDiscarded
    }

    private enum CodingKeys: String, CodingKey {
        case numberUploadsDiscarded
    }

    /// Decodes a reply.
    public init(from decoder: any Decoder) throws {
        numberUploadsDiscarded = try decoder.container(keyedBy: CodingKeys.self).number(.numberUploadsDiscarded)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("numberUploadsDiscarded", numberUploadsDiscarded)
        }
    }
}
