import Foundation

/// Direct exchanges between phones and the emulated storages.
extension TestServer {
    /// Sends bytes to a storage with a client that knows only the address.
    /// - Parameter address: the `directUpload` of CreateUpload.
    /// - Returns: the status.
    public func send(_ bytes: [UInt8], toStorage address: JSONValue) throws -> Int {
        let folder = try ScratchFolder("direct")
        let file = folder.url.appending(path: "body")
        try Data(bytes).write(to: file)
        var arguments = ["--header", "Content-Type: \(address.contentType?.text ?? "")"]
        if address.form?.text == "whole" {
            arguments += ["--request", "POST", "--data-binary", "@\(file.path)"]
        } else {
            arguments += ["--upload-file", file.path]
            if address.form?.text == "fragments" {
                arguments += ["--header", "Content-Range: bytes 0-\(bytes.count - 1)/\(bytes.count)"]
            }
        }
        return try curl(arguments, toStorage: address).status
    }

    /// Makes a request to an address with curl.
    /// - Throws: ``StackError`` without a reply.
    public func curl(_ arguments: [String], toStorage address: JSONValue) throws -> (status: Int, body: [UInt8]) {
        let reply = try exchange(arguments, withStorage: address)
        return (reply.status, reply.body)
    }

    /// Makes a request to an address with curl; the reply may be incomplete.
    /// - Throws: ``StackError`` without a reply.
    public func exchange(_ arguments: [String], withStorage address: JSONValue) throws -> HTTPReply {
        let folder = try ScratchFolder("direct-reply")
        let output = folder.url.appending(path: "reply")
        let head = folder.url.appending(path: "head")
        // Over HTTP/2, curl ends the last bytes with an empty frame. If nginx has the reply before that frame, as on a
        // busy machine, it resets the stream, and curl drops the reply.
        let command = try Command(
            "/usr/bin/curl",
            [
                "--http1.1", "--silent", "--show-error", "--cacert", certificateAuthorityFile, "--connect-to",
                "::127.0.0.1:\(try environment.value("SANDBOX_TLS_PORT"))", "--output", output.path,
                "--dump-header", head.path, "--write-out", "%{http_code}", "--max-time", "60",
            ] + arguments + [address.url?.text ?? ""])
        guard let status = Int(command.output.suffix(3)), status > 0 else {
            throw StackError.malformedSetting(command.output)
        }
        let lines = String(decoding: FileManager.default.contents(atPath: head.path) ?? Data(), as: UTF8.self)
        let headers = lines.split(separator: "\r\n").compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (
                name: String(line[..<colon]),
                value: line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            )
        }
        return HTTPReply(
            status: status, headers: headers, body: Array(FileManager.default.contents(atPath: output.path) ?? Data()),
            isComplete: command.status == 0)
    }
}
