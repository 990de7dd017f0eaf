/// Begins an upload whose bytes arrive in any number of other requests; a device has only one upload of a file version.
public struct CreateUploadRequest: RequestMessage {
    public typealias Response = CreateUploadResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.createUpload
    public static let fields = QueryFields(
        Self.init,
        .message(\.upload),
        .flag(.direct, \.isDirect),
        .optional(.storageHash, \.storageHash))

    /// The upload, as for a single request.
    public let upload: UploadFileRequest
    /// Whether the client can send the bytes directly to the owner's storage.
    public let isDirect: Bool
    /// The hash that the storage will report, if that is not the checksum; without it, bytes are never sent directly to
    /// OneDrive.
    public let storageHash: StorageHash?

    /// Creates a request.
    public init(_ upload: UploadFileRequest, isDirect: Bool = false, storageHash: StorageHash? = nil) {
        self.upload = upload
        self.isDirect = isDirect
        self.storageHash = storageHash
    }
}

/// The response to ``CreateUploadRequest``, sent in a header.
public enum CreateUploadResponse: ResponseMessage {
    /// The bytes are expected (status 201); the headers say where to send them. With an address at the owner's storage,
    /// the client may send them there instead.
    case created(UploadUUID, direct: DirectUpload? = nil)
    /// There is nothing to send: the reply that UploadFile would give.
    case answered(UploadFileResponse)

    private enum CodingKeys: String, CodingKey {
        case uploadUUID, directUpload
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let uploadUUID = try container.decodeIfPresent(UploadUUID.self, forKey: .uploadUUID) {
            // The client cannot use an address in an unknown form.
            self = .created(
                uploadUUID, direct: try? container.decodeIfPresent(DirectUpload.self, forKey: .directUpload))
        } else {
            self = .answered(try UploadFileResponse(from: decoder))
        }
    }

    public var isStale: Bool { if case .answered(let response) = self { response.isStale } else { false } }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .created(let uploadUUID, let direct):
            writer.object { writer in
                writer.field("uploadUUID", uploadUUID)
                guard let direct else { return }
                writer.key("directUpload")
                direct.write(to: &writer)
            }
        case .answered(let response): response.write(to: &writer)
        }
    }
}

/// Requests the server's capabilities for uploads in pieces, for clients of the tus protocol.
public struct UploadOptionsRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = AnyoneAccess
    public static let endpoint = EndpointName.uploadOptions
    public static let fields = QueryFields(Self.init)

    /// Creates a request.
    public init() {}
}

/// Requests the number of bytes of an upload that need not be resent, which the reply has in a header.
public struct GetUploadOffsetRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.getUploadOffset
    public static let fields = QueryFields(Self.init, .required(.uploadUUID, \.uploadUUID))

    /// The upload.
    public let uploadUUID: UploadUUID

    /// Creates a request.
    public init(_ uploadUUID: UploadUUID) { self.uploadUUID = uploadUUID }
}

/// Sends bytes of an upload, starting at its offset; the last ones stage the file.
public struct AppendToUploadRequest: RequestMessage {
    public typealias Response = AppendToUploadResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.appendToUpload
    public static let fields = QueryFields(
        Self.init,
        .required(.uploadUUID, \.uploadUUID),
        .optional(.masterVersion, \.masterVersion),
        .flag(.direct, \.isDirect))

    /// The upload.
    public let uploadUUID: UploadUUID
    /// The group's master version, if it has changed since the upload began.
    public let masterVersion: MasterVersion?
    /// Whether the client has sent all bytes directly to the owner's storage.
    public let isDirect: Bool

    /// Creates a request.
    public init(_ uploadUUID: UploadUUID, masterVersion: MasterVersion? = nil, isDirect: Bool = false) {
        self.uploadUUID = uploadUUID
        self.masterVersion = masterVersion
        self.isDirect = isDirect
    }
}

/// The response to ``AppendToUploadRequest``, sent in a header.
public enum AppendToUploadResponse: ResponseMessage {
    /// More bytes are expected.
    case incomplete
    /// All bytes have arrived: the reply that UploadFile would have given.
    case answered(UploadFileResponse)
    /// The same for an upload that ReuploadFile began.
    case reuploaded(ReuploadFileResponse)

    private enum CodingKeys: String, CodingKey {
        case creationDate, masterVersionUpdate, result
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.result) {
            self = .reuploaded(try ReuploadFileResponse(from: decoder))
            return
        }
        self =
            container.contains(.creationDate) || container.contains(.masterVersionUpdate)
            ? .answered(try UploadFileResponse(from: decoder)) : .incomplete
    }

    public var isStale: Bool { if case .answered(let response) = self { response.isStale } else { false } }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .incomplete: writer.object { _ in }
        case .answered(let response): response.write(to: &writer)
        case .reuploaded(let response): response.write(to: &writer)
        }
    }
}

/// Ends an upload; the bytes that have arrived are deleted.
public struct AbandonUploadRequest: RequestMessage {
    public typealias Response = EmptyResponse
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.abandonUpload
    public static let fields = QueryFields(Self.init, .required(.uploadUUID, \.uploadUUID))

    /// The upload.
    public let uploadUUID: UploadUUID

    /// Creates a request.
    public init(_ uploadUUID: UploadUUID) { self.uploadUUID = uploadUUID }
}

/// An address at the owner's cloud storage to which a client sends the bytes of one file directly.
///
/// Anyone with the address can use it: keep it secret like a password, and send no other authorization to it.
public struct DirectUpload: Sendable, Hashable, Decodable {
    /// How the provider expects the bytes.
    public enum Form: String, Sendable, Hashable, Codable, CaseIterable {
        /// Google: PUT with `Content-Range`; 308 means that more is expected, from the position after its `Range`.
        case resumable
        /// Dropbox: all bytes in one POST, once.
        case whole
        /// OneDrive: PUT with `Content-Range`, less than 60 MiB each; 202 means that more is expected, from the first
        /// of its `nextExpectedRanges`.
        case fragments
    }

    /// The address.
    public let url: String
    /// How the bytes are sent there.
    public let form: Form
    /// The `Content-Type` of these requests.
    public let contentType: String
    /// The length of each request's body except the last must be a multiple of this; nil for a single request.
    public let granularityBytes: Int64?
    /// Until when the address works, at most.
    public let expires: WireDate

    /// Creates a description.
    public init(url: String, form: Form, contentType: String, granularityBytes: Int64?, expires: WireDate) {
        self.url = url
        self.form = form
        self.contentType = contentType
        self.granularityBytes = granularityBytes
        self.expires = expires
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("url", text: url)
            writer.field("form", form)
            writer.field("contentType", text: contentType)
            if let granularityBytes { writer.field("granularityBytes", granularityBytes) }
            writer.field("expires", expires)
        }
    }
}
