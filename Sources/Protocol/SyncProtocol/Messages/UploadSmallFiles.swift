/// Stages many small files in one request. Each is staged by the rules of ``UploadFileRequest``, and has a separate
/// result.
///
/// The body is a form (RFC 7578, `multipart/form-data`) whose first part, ``SmallFile/list(_:)``, lists the files; the
/// following parts are their contents, in the same order.
public struct UploadSmallFilesRequest: RequestMessage {
    public typealias Response = UploadSmallFilesResponse
    public typealias Access = MemberAccess
    public static let endpoint = EndpointName.uploadSmallFiles
    public static let fields = QueryFields(Self.init, .groupAsUUID(\.sharingGroupUUID))

    /// The group of all files; here it must be a well-formed UUID.
    public let sharingGroupUUID: SharingGroupUUID

    /// Creates a request.
    public init(sharingGroupUUID: SharingGroupUUID) {
        self.sharingGroupUUID = sharingGroupUUID
    }
}

/// One of the files in an ``UploadSmallFilesRequest``.
public struct SmallFile: Sendable, Hashable, Decodable {
    /// The query of an ``UploadFileRequest`` for the file.
    public let parameters: String
    /// The length of its contents, in bytes.
    public let sizeBytes: Int64

    /// Creates an entry of the list.
    public init(_ request: UploadFileRequest, sizeBytes: Int64) {
        parameters = request.encodedQuery(.unambiguous)
        self.sizeBytes = sizeBytes
    }

    /// The list of files, as the first part of the body: a JSON object.
    public static func list(_ files: [SmallFile]) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: files.count * 512)
        writer.object { writer in
            writer.key("files")
            writer.array { writer in
                for file in files {
                    writer.object { writer in
                        writer.field("parameters", text: file.parameters)
                        writer.field("sizeBytes", file.sizeBytes)
                    }
                }
            }
        }
        return writer.bytes
    }
}

/// What a server accepts in one ``UploadSmallFilesRequest``.
public struct SmallFileLimits: Sendable, Hashable, Decodable {
    /// The maximum number of files.
    public var maximumFiles: Int
    /// The maximum length of each file's contents, in bytes.
    public var maximumFileBytes: Int64
    /// The maximum length of the body, in bytes.
    public var maximumBodyBytes: Int64

    /// Creates limits.
    public init(maximumFiles: Int, maximumFileBytes: Int64, maximumBodyBytes: Int64) {
        self.maximumFiles = maximumFiles
        self.maximumFileBytes = maximumFileBytes
        self.maximumBodyBytes = maximumBodyBytes
    }

    /// The limits of this release's server. The memory that a request needs depends on the second and on the list of
    /// files, not on the length of the body.
    public static let current = SmallFileLimits(
        maximumFiles: 128, maximumFileBytes: 256 << 10, maximumBodyBytes: 16 << 20)
    /// The maximum length of the list of files, in bytes.
    public static let maximumListBytes = 256 << 10

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("maximumFiles", Int64(maximumFiles))
            writer.field("maximumFileBytes", maximumFileBytes)
            writer.field("maximumBodyBytes", maximumBodyBytes)
        }
    }
}

/// The results of the files, in the order of the request.
public struct UploadSmallFilesResponse: ResponseMessage {
    /// The result of one file: what ``UploadFileRequest`` would get for it.
    public enum Result: Sendable, Hashable {
        case message(UploadFileResponse)
        /// - Parameter retryAfter: the value of the header `Retry-After`, in seconds.
        case refused(ErrorBody, retryAfter: Int64?)
    }

    /// The results.
    public let results: [Result]

    /// Creates a response.
    public init(results: [Result]) {
        self.results = results
    }

    /// Whether nothing was done because the master version is stale.
    public var isStale: Bool {
        !results.isEmpty
            && results.allSatisfy { if case .message(let message) = $0 { message.isStale } else { false } }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("results")
            writer.array { writer in for result in results { result.write(to: &writer) } }
        }
    }
}

extension UploadSmallFilesResponse.Result: Decodable {
    private enum CodingKeys: String, CodingKey {
        case status, message, error, retryAfter
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let message = try container.decodeIfPresent(UploadFileResponse.self, forKey: .message) {
            self = .message(message)
            return
        }
        let body = try container.decode(ReceivedErrorBody.self, forKey: .error)
        self = .refused(
            ErrorBody(
                error: body.error ?? "", code: body.code ?? "", requestId: body.requestId ?? "-",
                retryable: body.retryable ?? false, goneReason: body.goneReason,
                status: try container.number(.status)),
            retryAfter: try container.optionalNumber(.retryAfter))
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .message(let message):
                writer.field("status", Int64(200))
                writer.key("message")
                message.write(to: &writer)
            case .refused(let body, let retryAfter):
                writer.field("status", Int64(body.status ?? 500))
                writer.key("error")
                body.write(to: &writer)
                if let retryAfter { writer.field("retryAfter", retryAfter) }
            }
        }
    }
}

/// The form of an ``UploadSmallFilesRequest``'s body: `multipart/form-data` (RFC 7578) with delimiters as in RFC 2046,
/// section 5.1.1.
public struct SmallFileForm: Sendable {
    /// The text that separates the parts.
    public let boundary: String

    /// - Parameter boundary: 1 to 70 letters, digits and `'()+_,-./:=?`; must not occur in the contents.
    public init(boundary: String) {
        self.boundary = boundary
    }

    /// Reads the boundary from a `Content-Type`; nil if the type is another one, or the boundary is missing or
    /// malformed.
    public init?(contentType: String) {
        var parts = contentType.split(separator: ";").map { $0.drop { $0 == " " }.trimmingTrailingSpaces }
        guard !parts.isEmpty, parts.removeFirst().lowercased() == "multipart/form-data" else { return nil }
        for part in parts where part.lowercased().hasPrefix("boundary=") {
            var value = part.dropFirst("boundary=".count)
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") { value = value.dropFirst().dropLast() }
            let isValid = value.utf8.allSatisfy { Self.isAllowed($0) }
            guard 1...70 ~= value.utf8.count, isValid else { return nil }
            boundary = String(value)
            return
        }
        return nil
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: "'()+_,-./:=?".utf8.contains(byte)
        }
    }

    /// The value of the header `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The beginning of the body, up to the first file's contents.
    public func head(_ files: [SmallFile]) -> [UInt8] {
        var bytes = Array("--\(boundary)\r\n".utf8)
        bytes += "Content-Disposition: form-data; name=\"files\"\r\nContent-Type: application/json\r\n\r\n".utf8
        bytes += SmallFile.list(files)
        return bytes + (files.isEmpty ? end : beginning)
    }

    /// Between the contents of two files.
    public var beginning: [UInt8] {
        Array(
            ("\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"contents\"; filename=\"contents\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\n").utf8)
    }

    /// After the last file's contents.
    public var end: [UInt8] { Array("\r\n--\(boundary)--\r\n".utf8) }
}

extension Substring {
    fileprivate var trimmingTrailingSpaces: Substring {
        var text = self
        while text.last == " " { text = text.dropLast() }
        return text
    }
}
