/// An UploadSmallFiles request, written byte by byte, so that tests can also write a wrong one.
public struct SmallFilesForm: Sendable {
    private static let boundary = "----tests-4711"

    /// The files' contents with the parameters of UploadFile.
    public var files: [(contents: [UInt8], parameters: [String: String?])]
    /// Lengths that the list states instead of the right ones, by position.
    public var listedBytes: [Int: Int] = [:]

    /// A request with new files of one person.
    public init(_ files: [TestFile], by user: TestUser, masterVersion: Int64) {
        self.files = files.map { ($0.contents, user.uploadParameters($0, masterVersion: masterVersion)) }
    }

    /// A request with any parameters.
    public init(_ files: [(contents: [UInt8], parameters: [String: String?])]) { self.files = files }

    /// The header that describes the body.
    public static let contentType = (name: "Content-Type", value: "multipart/form-data; boundary=\(boundary)")

    /// The body; ``end(of:)`` finds the end of each file in it.
    public var body: [UInt8] {
        files.indices.reduce(head) { $0 + part($1) } + Array("\r\n--\(Self.boundary)--\r\n".utf8)
    }

    /// The number of bytes of the body up to the end of a file's contents and the delimiter after them.
    public func end(of position: Int) -> Int {
        files.indices.prefix(position + 1).reduce(head) { $0 + part($1) }.count + Self.boundary.utf8.count + 4
    }

    private var head: [UInt8] {
        let entries = files.indices.map { position in
            let query = ClientQuery.text(files[position].parameters).drop { $0 == "?" }
            let escaped = query.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            let size = listedBytes[position] ?? files[position].contents.count
            return "{\"parameters\": \"\(escaped)\", \"sizeBytes\": \(size)}"
        }
        return Array(
            ("--\(Self.boundary)\r\ncontent-disposition: form-data; name=files\r\n\r\n"
                + "{\"files\": [\(entries.joined(separator: ", "))]}").utf8)
    }

    private func part(_ position: Int) -> [UInt8] {
        Array("\r\n--\(Self.boundary)\r\ncontent-disposition: form-data; name=contents\r\n\r\n".utf8)
            + files[position].contents
    }
}

extension TestUser {
    /// A request for the files, without its body.
    public func smallFilesCall() -> HTTPCall {
        HTTPCall(
            "POST", "/UploadSmallFiles/\(ClientQuery.text(["sharingGroupUUID": group]))",
            headers: headers + [SmallFilesForm.contentType])
    }

    /// Calls UploadSmallFiles; the reply may be an error.
    public func upload(_ form: SmallFilesForm) throws -> HTTPReply {
        var call = smallFilesCall()
        call.body = form.body
        return try server.address.perform(call)
    }

    /// Calls UploadSmallFiles, which must succeed, and returns the results in the order of the files.
    public func stage(_ form: SmallFilesForm) throws -> [JSONValue] {
        let reply = try upload(form)
        guard reply.status == 200, let results = reply.json?.results?.array, results.count == form.files.count else {
            throw UnexpectedReply("UploadSmallFiles", reply)
        }
        return results
    }
}
