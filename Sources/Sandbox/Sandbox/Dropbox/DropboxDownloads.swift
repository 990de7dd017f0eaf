/// `files/download`.
struct DropboxDownloads {
    let server: SandboxServer

    func respond(to request: SandboxRequest) throws -> SandboxResponse {
        let caller = try DropboxCaller(request, scope: "files.content.read", server: server)
        let argument = try DropboxArgument(request, .download, members: ["path", "rev"], server: server)
        let entry = try DropboxFiles.entry(argument.text("path"), of: caller.account.id, server, wrapper: "path")
        guard let size = entry.size else { throw DropboxError.path(["not_file"]) }
        let metadata = DropboxFiles.shown(entry, by: server).metadata(isTagged: false)
        var response = bytes(of: entry, size: size, in: caller.account.id, to: request)
        if response.status != 416 { response.headers.append(("Dropbox-API-Result", Self.ascii(.object(metadata)))) }
        return response
    }

    /// A file's bytes, or the requested range of them.
    func bytes(
        of entry: DropboxEntry, size: Int, in account: String, to request: SandboxRequest
    ) -> SandboxResponse {
        let size = server.breaks.contains(.dropLastByte) ? max(0, size - 1) : size
        let path = server.directory.contentPath(account, entry.id)
        var headers: [(name: String, value: String)] = [
            ("Content-Type", "application/octet-stream"), ("Accept-Ranges", "bytes"),
            ("ETag", "W/\"\(entry.revision)\""),
        ]
        headers += SandboxResponse.dropboxHeaders
        switch ByteRange(request.header("range"), length: size) {
        case .whole: return SandboxResponse(200, headers: headers, file: path, offset: 0, count: size)
        case .part(let first, let last):
            headers.append(("Content-Range", "bytes \(first)-\(last)/\(size)"))
            return SandboxResponse(206, headers: headers, file: path, offset: first, count: last - first + 1)
        case .unsatisfiable:
            var response = DropboxError.text(416, "Requested Range Not Satisfiable")
            response.headers.append(("Content-Range", "bytes */\(size)"))
            return response
        }
    }

    /// JSON for a header: everything except printable ASCII is escaped.
    static func ascii(_ json: JSONValue) -> String {
        var text = ""
        for unit in json.text().utf16 {
            if (0x20..<0x7F).contains(unit) {
                text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            } else {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return text
    }
}
