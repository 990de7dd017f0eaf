import TestSupport

/// The requests of one upload in pieces.
struct PieceCalls {
    let uploadUUID: String
    private let target: String
    private let headers: [(name: String, value: String)]

    /// - Parameters:
    ///   - created: the reply to CreateUpload.
    ///   - headers: the phone's headers.
    /// - Throws: ``UnexpectedReply`` if the reply contains no upload.
    init(_ created: HTTPReply, headers: [(name: String, value: String)]) throws {
        guard let upload = created.messageParameters?.uploadUUID?.text else {
            throw UnexpectedReply("CreateUpload", created)
        }
        uploadUUID = upload
        target = "/Upload?uploadUUID=\(upload)"
        self.headers = headers + [("Upload-Draft-Interop-Version", "6")]
    }

    var offset: HTTPCall { HTTPCall("HEAD", target, headers: headers) }
    var abandoned: HTTPCall { HTTPCall("DELETE", target, headers: headers) }

    /// Confirms that all bytes are in the storage.
    func confirmed(ofBytes count: Int) -> HTTPCall {
        var call = append(from: count)
        call.target += "&direct=true"
        return call
    }

    /// A request for a piece, by default the last one, without its bytes.
    func append(from offset: Int, isLast: Bool = true) -> HTTPCall {
        HTTPCall(
            "PATCH", target,
            headers: headers + [
                ("Upload-Offset", String(offset)), ("Upload-Complete", isLast ? "?1" : "?0"),
                ("Content-Type", "application/partial-upload"),
            ])
    }
}
