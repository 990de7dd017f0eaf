import HTTPTransport
import HTTPTypes

/// An upload to OneDrive: in a single request if the content is small, otherwise through an upload session (Microsoft
/// Graph, "Upload or replace the contents of a driveItem" and "driveItem: createUploadSession").
///
/// Bytes are sent as they arrive. Nothing appears in the person's drive before the content is verified: a request that
/// ends before its announced length stores nothing, and a session without the end of its last part creates no item.
///
/// A session's address is itself the authorization: our token is never sent there. OneDrive may store less of a
/// fragment than was sent, so the range that it expects next decides where to continue. After an ambiguous reply,
/// OneDrive is asked for that range before any byte is sent again.
struct OneDriveSession: UploadSession {
    /// Every fragment of a session except the last is a multiple of this size.
    static let granularity = 320 * 1024
    /// Content up to this size needs only one request; empty content always uses one, since sessions reject it.
    private static let simpleLimitBytes = 4 << 20
    /// A session may be unknown for a moment to the hosts that receive its bytes.
    private static let replicationPause: Duration = .seconds(5)
    private static let cancellationTime: Duration = .seconds(3)

    let content: any UploadContent
    /// The names that the object may get, in order of preference.
    private let names: [String]
    private let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration
    /// The items of the same size that have the names before the session's: one of them may turn out to be equal.
    private var rivals: [DriveItem] = []
    /// Whether the last part is only compared with the rivals so far.
    private var isComparing = false
    /// The session; its address is empty before it begins.
    private var saved = OneDriveSavedSession(url: "", name: "")
    private var client: ProviderClient
    private var isKnownToWork = false

    init(_ content: any UploadContent, as reservation: ObjectReservation, to access: StorageAccess) {
        self.content = content
        names = [reservation.name, reservation.spareName].compactMap(\.self)
        self.access = access
        patience = access.deadline.remaining
        client = Self.client(access)
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let item = try SessionUpload(self).run()
        guard isOurs(item) else {
            // The wrong item is ours, and nobody else can find it, since its name may differ from the reserved one.
            try? OneDrive.delete(item.id, access)
            throw .contentMismatch
        }
        return item.stored
    }

    /// Whether an item has the content's size and, if OneDrive already knows it, the content's hash.
    private func isOurs(_ item: DriveItem) -> Bool {
        guard item.size == content.lengthBytes else { return false }
        return item.stored.providerHash.map { $0 == content.providerHash } ?? true
    }

    /// Whether an existing item has the same content, which is unknown without a hash.
    private func isEqual(_ item: DriveItem) -> Bool {
        item.stored.providerHash == content.providerHash && item.size == content.lengthBytes
    }

    var rules: PartRules {
        PartRules(
            granularity: Self.granularity, longest: .max, whole: Self.simpleLimitBytes, restarts: true,
            collects: false)
    }

    private var creation: OneDriveCreation { OneDriveCreation(access: access, patience: patience) }

    /// The item that already has the name.
    private func existing(_ name: String) throws(CloudStorageError) -> DriveItem? {
        try OneDrive.item(named: name, access, by: .after(patience))
    }

    // MARK: Small content

    func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DriveItem {
        for name in names {
            let url = OneDrive.address(ofName: name) + ":/content"
            var request = OutgoingRequest(
                .microsoft, .upload, .put, OutgoingRequest.url(url, [("@microsoft.graph.conflictBehavior", "fail")]),
                body: part.body())
            request.headers[.contentType] = "application/octet-stream"
            let reply = try creation.create { client throws(CloudStorageError) in
                try client.send(request, with: part, within: patience)
            }
            if reply.status != 409 { return try ProviderJSON.decode(DriveItem.self, reply.body) }
            // Only now is the hash of the content known.
            try part.arrive()
            guard let item = try existing(name) else { continue }
            if isEqual(item) { return item }
            // The item may contain these bytes, from an attempt whose reply was lost: OneDrive computes hashes late.
            if item.size == content.lengthBytes, item.stored.providerHash == nil {
                throw .unavailable(detail: "OneDrive has not yet hashed the item with the object's name")
            }
        }
        throw .contentMismatch
    }

    // MARK: Upload session

    /// Begins a session under the first free name.
    mutating func begin() throws(CloudStorageError) -> (() throws(CloudStorageError) -> DriveItem)? {
        rivals = []
        var isBusy = false
        for name in names {
            let reply = try creation.startSession(name, ofBytes: content.lengthBytes)
            guard reply.status == 409 else {
                let state = try ProviderJSON.decode(UploadSessionState.self, reply.body)
                guard let url = state.uploadUrl else { throw .unavailable(detail: "the upload session has no address") }
                try join(OneDriveSavedSession(url: url, name: name))
                return nil
            }
            // If there is no item, a different session has the name, perhaps one whose reply was lost.
            guard let item = try existing(name) else {
                isBusy = true
                continue
            }
            if item.size == content.lengthBytes { rivals.append(item) }
        }
        if isBusy { throw .unavailable(detail: "another upload session has the object's name") }
        // Nothing can be created, but the whole content may already exist.
        return { [self] () throws(CloudStorageError) in
            guard let rival = rivals.first(where: isEqual) else { throw .contentMismatch }
            return rival
        }
    }

    var record: String { get throws(CloudStorageError) { try saved.text } }

    mutating func open(_ record: String) throws(CloudStorageError) -> Bool {
        let recorded = try OneDriveSavedSession(record)
        try join(OneDriveSavedSession(url: recorded.url, name: recorded.name))
        return true
    }

    private mutating func join(_ session: OneDriveSavedSession) throws(CloudStorageError) {
        _ = try ContentHost.checked(session.url)
        saved = session
        client = Self.client(access)
        isKnownToWork = false
    }

    private static func client(_ access: StorageAccess) -> ProviderClient {
        var client = ProviderClient(access) { reply in
            switch reply.status {
            case 401, 404, 409, 410, 412, 416: .answer
            case 400 where Self.saysThatItIsLost(reply): .answer
            default: GraphVerdict.classify(reply, accepting: [])
            }
        }
        client.presentsToken = false
        return client
    }

    /// Whether status 400 concerns the session: OneDrive has no documented code for that, and reports "Upload session
    /// not found" or `uploadSessionFailed` (issues 140 and 698 of its documentation).
    private static func saysThatItIsLost(_ reply: Reply) -> Bool {
        let text = String(decoding: reply.body.prefix(4_096), as: UTF8.self).lowercased()
        return text.contains("upload session not found") || text.contains("uploadsession")
    }

    mutating func progress(after recorded: Int64) throws(CloudStorageError) -> SessionProgress<DriveItem> {
        let reply = try client.send(OutgoingRequest(.microsoft, .upload, .get, saved.url), by: .after(patience))
        if reply.status == 200,
            let next = try ProviderJSON.decode(UploadSessionState.self, reply.body).nextPosition
        {
            return .at(next)
        }
        // The previous request may have sent everything.
        guard let item = try existing(saved.name), item.size == content.lengthBytes else { throw lost() }
        return .exists { [self] () throws(CloudStorageError) in
            guard isEqual(item) else { throw lost() }
            return item
        }
    }

    mutating func send(_ part: UploadPart) throws(CloudStorageError) -> SessionOutcome<DriveItem> {
        if part.isLast, !rivals.isEmpty {
            // The hash of the content is known only after its end.
            isComparing = true
            try part.arrive()
            isComparing = false
            if let rival = rivals.first(where: isEqual) {
                cancel()
                return .finished(rival)
            }
        }
        let outcome = try sendWhenFree(part, isPositionKnown: true)
        if case .exists = outcome, !part.isLast { throw Self.nameTaken }
        return outcome
    }

    mutating func keep(_ rest: UploadPart?) throws(CloudStorageError) -> Bool {
        guard !isComparing, let rest, case .taken = try sendWhenFree(rest, isPositionKnown: false) else {
            return false
        }
        return true
    }

    private static let nameTaken = CloudStorageError.unavailable(
        detail: "the object's name was taken during the upload")

    /// Sends a part, and repeats it if the session is busy: a request whose connection broke may still be in progress.
    private mutating func sendWhenFree(
        _ part: UploadPart, isPositionKnown: Bool
    ) throws(CloudStorageError) -> SessionOutcome<DriveItem> {
        var attempt = 0
        while true {
            if let outcome = try send(part, isPositionKnown: isPositionKnown) { return outcome }
            if let rival = try existing(saved.name) {
                return .exists { [self] () throws(CloudStorageError) in
                    guard isEqual(rival) else { throw Self.nameTaken }
                    cancel()
                    return rival
                }
            }
            attempt += 1
            let deadline = part.deadline(within: patience)
            guard
                access.backoff.wait(
                    before: attempt, retryAfter: nil, deadline: deadline, for: ExternalService.microsoft.name)
            else {
                throw .unavailable(detail: "the upload session is busy with another request")
            }
        }
    }

    /// Sends a part from OneDrive's position, if necessary repeatedly.
    /// - Parameter isPositionKnown: whether OneDrive is known to have none of the part yet.
    /// - Returns: `nil` if the session is busy or its name is taken.
    private mutating func send(
        _ part: UploadPart, isPositionKnown: Bool
    ) throws(CloudStorageError) -> SessionOutcome<DriveItem>? {
        let end = part.end
        var position: Int64? = isPositionKnown ? part.offset : nil
        var attempt = 0
        while true {
            let sent = position
            let request =
                position.map { fragment(of: part, from: $0) } ?? OutgoingRequest(.microsoft, .upload, .get, saved.url)
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
                case 409: return nil
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
        var request = OutgoingRequest(.microsoft, .upload, .put, saved.url, body: part.body(from: position))
        request.headers[.contentRange] = "bytes \(position)-\(part.end - 1)/\(content.lengthBytes)"
        request.headers[.contentType] = "application/octet-stream"
        return request
    }

    func created() throws(CloudStorageError) -> DriveItem? {
        try existing(saved.name).flatMap { isEqual($0) ? $0 : nil }
    }

    func lost() -> CloudStorageError { content.lost("OneDrive lost the upload session") }

    /// An upload in pieces may continue in the session.
    func failed(_ error: CloudStorageError) -> CloudStorageError {
        if content.resumption == nil, !saved.url.isEmpty { cancel() }
        return error
    }

    /// Cancels the session, so that it does not count against the person's storage until it expires; ignores a failure.
    private func cancel() {
        _ = try? access.transport.send(
            OutgoingRequest(.microsoft, .upload, .delete, saved.url), by: .after(Self.cancellationTime))
    }
}
