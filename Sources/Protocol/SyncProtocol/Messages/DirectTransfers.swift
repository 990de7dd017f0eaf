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

/// An address at the owner's cloud storage from which a client reads the bytes of one file directly.
///
/// Anyone with the address can read them: keep it secret like a password, and send no other authorization to it.
public struct DirectDownload: Sendable, Hashable, Decodable {
    /// The address.
    public let url: String
    /// Until when the address works, at most.
    public let expires: WireDate

    /// Creates a description.
    public init(url: String, expires: WireDate) {
        self.url = url
        self.expires = expires
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("url", text: url)
            writer.field("expires", expires)
        }
    }
}
