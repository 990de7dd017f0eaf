/// A `multipart/related` upload (RFC 2387): metadata as JSON, then the bytes of a file; exactly two parts.
struct MultipartRelated {
    /// The JSON of the first part.
    let metadata: [UInt8]
    /// The bytes of the second part.
    let content: ArraySlice<UInt8>
    /// Media type of the second part.
    let contentType: String?

    typealias Malformed = MultipartBody.Malformed

    /// Parses a body.
    init(contentType header: String, body: [UInt8]) throws(Malformed) {
        let parts = try MultipartBody("related", contentType: header, body: body).parts
        guard parts.count == 2 else { throw Malformed(message: "there are \(parts.count) parts, not two") }
        let type = parts[0].headers["content-type"]?.prefix { $0 != ";" }.lowercased()
        guard type == "application/json" else {
            throw Malformed(message: "the first part is \(type ?? "of no type"), not application/json")
        }
        metadata = Array(parts[0].content)
        content = parts[1].content
        self.contentType = parts[1].headers["content-type"]
    }
}
