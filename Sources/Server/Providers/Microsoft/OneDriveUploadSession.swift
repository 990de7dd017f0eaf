import HTTPTransport
import HTTPTypes
import SyncProtocol

/// The data phase of an upload session.
///
/// The session's address is itself the authorization: our token is never sent there. OneDrive may store less of a
/// fragment than was sent, so the range that it expects next decides where to continue. After an ambiguous reply,
/// OneDrive is asked for that range before any byte is sent again.
struct OneDriveUploadSession {
    /// The outcome of one part.
    enum Outcome {
        /// OneDrive has the whole file.
        case finished(DriveItem)
        /// OneDrive has this part and waits for the next one.
        case taken
        /// A different item has taken the name in the meantime.
        case exists
        /// OneDrive no longer knows the session.
        case lost
    }

    /// A session may be unknown for a moment to the hosts that receive its bytes.
    private static let replicationPause: Duration = .seconds(5)
    private static let cancellationTime: Duration = .seconds(3)

    /// The name that the item will have.
    let name: String
    /// The session's address. Secret: it authorizes its holder to write.
    let url: String
    private let totalBytes: Int64
    private let access: StorageAccess
    private var client: ProviderClient
    private var isKnownToWork = false

    /// - Parameter url: the session's address. Secret: it authorizes its holder to write.
    init(url: String, name: String, totalBytes: Int64, access: StorageAccess) throws(CloudStorageError) {
        self.url = try ContentHost.checked(url)
        self.name = name
        self.totalBytes = totalBytes
        self.access = access
        client = ProviderClient(access) { reply in
            switch reply.status {
            case 401, 404, 409, 410, 412, 416: .answer
            case 400 where Self.saysThatItIsLost(reply): .answer
            default: GraphVerdict.classify(reply, accepting: [])
            }
        }
        client.presentsToken = false
    }

    /// Whether status 400 concerns the session: OneDrive has no documented code for that, and reports "Upload session
    /// not found" or `uploadSessionFailed` (issues 140 and 698 of its documentation).
    private static func saysThatItIsLost(_ reply: Reply) -> Bool {
        let text = String(decoding: reply.body.prefix(4_096), as: UTF8.self).lowercased()
        return text.contains("upload session not found") || text.contains("uploadsession")
    }

    /// Asks OneDrive for its progress.
    /// - Returns: `nil` if OneDrive no longer knows the session, or expects no more bytes.
    mutating func position(by deadline: Deadline) throws(CloudStorageError) -> Int64? {
        let reply = try client.send(OutgoingRequest(.microsoft, .upload, .get, url), by: deadline)
        guard reply.status == 200 else { return nil }
        return try ProviderJSON.decode(UploadSessionState.self, reply.body).nextPosition
    }

    /// Sends one part from OneDrive's position, if necessary repeatedly.
    ///
    /// - Parameters:
    ///   - patience: how long OneDrive may take after all of the part has arrived.
    ///   - isPositionKnown: whether OneDrive is known to have none of the part yet.
    mutating func send(
        _ part: UploadPart, within patience: Duration, isPositionKnown: Bool = true
    ) throws(CloudStorageError) -> Outcome {
        let end = part.end
        var position: Int64? = isPositionKnown ? part.offset : nil
        var attempt = 0
        while true {
            let sent = position
            let request =
                position.map { fragment(of: part, from: $0) } ?? OutgoingRequest(.microsoft, .upload, .get, url)
            let outcome = try client.sendOnce(request, by: part.deadline(within: patience))
            let deadline = part.deadline(within: patience)
            position = nil
            switch outcome {
            case .unknown(let retryAfter, let error):
                attempt += 1
                try client.wait(before: attempt, retryAfter: retryAfter, by: deadline, orThrow: error)
                continue
            case .answer(let reply):
                switch reply.status {
                case 404 where !isKnownToWork && sent != nil:
                    isKnownToWork = true
                    guard
                        access.backoff.pause(
                            Self.replicationPause, deadline: deadline, for: ExternalService.microsoft.name)
                    else { return .lost }
                    position = sent
                    continue
                // The session's address is its authorization, so only a new session fixes a 401.
                case 400, 401, 404, 410, 412: return .lost
                case 409: return .exists
                case 416:
                    // OneDrive's position differs from ours.
                    attempt += 1
                    try client.wait(
                        before: attempt, retryAfter: nil, by: deadline,
                        orThrow: .unavailable(detail: "OneDrive does not accept the part"))
                    continue
                case 200, 201:
                    if sent != nil { return .finished(try ProviderJSON.decode(DriveItem.self, reply.body)) }
                default: break
                }
                isKnownToWork = true
                let state = try ProviderJSON.decode(UploadSessionState.self, reply.body)
                // OneDrive expects no more bytes, although it has not reported the item: the caller looks it up by its
                // name.
                guard let next = state.nextPosition else { return .lost }
                if next == end && !part.isLast { return .taken }
                guard next >= part.offset && next < end else {
                    throw .unavailable(detail: "OneDrive lost acknowledged bytes")
                }
                if let sent, next <= sent {
                    attempt += 1
                    try client.wait(
                        before: attempt, retryAfter: nil, by: deadline,
                        orThrow: .unavailable(detail: "OneDrive does not accept the part"))
                } else if sent != nil {
                    attempt = 0
                }
                position = next
            }
        }
    }

    private func fragment(of part: UploadPart, from position: Int64) -> OutgoingRequest {
        var request = OutgoingRequest(.microsoft, .upload, .put, url, body: part.body(from: position))
        request.headers[.contentRange] = "bytes \(position)-\(part.end - 1)/\(totalBytes)"
        request.headers[.contentType] = "application/octet-stream"
        return request
    }

    /// Cancels the session, so that it does not count against the person's storage until it expires; ignores a failure.
    func cancel() {
        _ = try? access.transport.send(
            OutgoingRequest(.microsoft, .upload, .delete, url), by: .after(Self.cancellationTime))
    }
}

/// An upload session as recorded between two requests.
struct OneDriveSavedSession: Codable {
    /// Secret: it authorizes its holder to write.
    var url: String
    /// The name that the item will have.
    var name: String
    /// In OneDrive's format; `nil` if it does not matter.
    var expirationDateTime: String?

    init(url: String, name: String, expirationDateTime: String? = nil) {
        self.url = url
        self.name = name
        self.expirationDateTime = expirationDateTime
    }

    init(_ text: String) throws(CloudStorageError) {
        self = try ProviderJSON.decode(Self.self, Array(text.utf8))
    }

    var text: String {
        get throws(CloudStorageError) { String(decoding: try ProviderJSON.encode(self), as: UTF8.self) }
    }

    var expires: WireDate? { expirationDateTime.flatMap(WireDate.init(internetText:)) }
}
