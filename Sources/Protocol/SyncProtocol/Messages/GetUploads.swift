/// Lists what this user has staged on this device in one group.
public struct GetUploadsRequest: RequestMessage {
    public typealias Response = GetUploadsResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.getUploads
    public static let parameters = ParameterList(required: [.sharingGroupUUID])

    /// The group; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID

    /// Puts a request together.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
    }

    public init(_ query: DecodedQuery) throws(RequestError) {
        sharingGroupUUID = try query.requiredGroupAsUUID()
    }

    public func encode(to encoder: inout QueryEncoder) {
        encoder.add(.sharingGroupUUID, sharingGroupUUID)
    }
}

/// Lists staged rows; none is an empty list.
public struct GetUploadsResponse: ResponseMessage {
    /// What is staged, in no particular order.
    public let uploads: [FileInfo]

    /// Puts the answer together.
    public init(uploads: [FileInfo]) {
        self.uploads = uploads
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("uploads")
            writer.array { writer in
                for upload in uploads { upload.write(to: &writer) }
            }
        }
    }
}
