import HTTPTransport
import HTTPTypes

/// An upload to OneDrive: in a single request if the content is small, otherwise through an upload session (Microsoft
/// Graph, "Upload or replace the contents of a driveItem" and "driveItem: createUploadSession").
///
/// Bytes are sent as they arrive. Nothing appears in the person's drive before the content is verified: a request that
/// ends before its announced length stores nothing, and a session without the end of its last part creates no item.
struct OneDriveUpload {
    /// Every fragment of a session except the last is a multiple of this size.
    static let granularity = 320 * 1024
    /// Content up to this size needs only one request; empty content always uses one, since sessions reject it.
    static let simpleLimitBytes = 4 << 20

    let content: any UploadContent
    /// The names that the object may get, in order of preference.
    let names: [String]
    let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration

    init(content: any UploadContent, names: [String], access: StorageAccess) {
        self.content = content
        self.names = names
        self.access = access
        patience = access.deadline.remaining
    }

    private var creation: OneDriveCreation { OneDriveCreation(access: access, patience: patience) }

    func run() throws(CloudStorageError) -> StoredObject {
        let item = try send()
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

    private func send() throws(CloudStorageError) -> DriveItem {
        if let resumption = content.resumption, let text = resumption.session {
            let saved = try OneDriveSavedSession(text)
            let session = try OneDriveUploadSession(
                url: saved.url, name: saved.name, totalBytes: content.lengthBytes, access: access)
            return try resume(resumption, session)
        }
        let first = try part()
        let limit = content.resumption.map { type(of: $0).smallBytes } ?? Self.simpleLimitBytes
        return try first.isLast && first.count <= limit ? sendWhole(first) : sendInSession(first)
    }

    private func part() throws(CloudStorageError) -> UploadPart { try content.part(granularity: Self.granularity) }

    // MARK: Small content

    private func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DriveItem {
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

    private func sendInSession(_ first: UploadPart) throws(CloudStorageError) -> DriveItem {
        let (begun, rivals) = try startSession()
        guard let session = begun else {
            // All names are taken, so nothing can be created, but the whole content may already exist.
            try content.verifyRest(from: first, granularity: Self.granularity)
            guard let rival = rivals.first(where: isEqual) else { throw .contentMismatch }
            return rival
        }
        return try transfer(first, in: session, rivals, mayRestart: true)
    }

    /// Continues the session of an earlier request.
    private func resume(
        _ resumption: any UploadResumption, _ session: OneDriveUploadSession
    ) throws(CloudStorageError) -> DriveItem {
        var session = session
        if !resumption.isPositionCertain {
            guard let position = try session.position(by: .after(patience)) else {
                // The previous request may have sent everything.
                guard let item = try existing(session.name), item.size == content.lengthBytes else { throw lost() }
                try content.verifyRest(from: part(), granularity: Self.granularity)
                guard isEqual(item) else { throw lost() }
                return item
            }
            guard position >= resumption.position else { throw lost() }
            do { try resumption.skip(to: position) } catch { throw .contentFailed(error) }
        }
        return try transfer(part(), in: session, [], mayRestart: false)
    }

    /// Sends everything from `first` onwards.
    private func transfer(
        _ first: UploadPart, in session: OneDriveUploadSession, _ rivals: [DriveItem], mayRestart: Bool
    ) throws(CloudStorageError) -> DriveItem {
        var session = session
        var rivals = rivals
        do throws(CloudStorageError) {
            var part = first
            var mayRestart = mayRestart
            while true {
                if part.isLast, !rivals.isEmpty {
                    // The hash of the content is known only after its end.
                    try part.arrive()
                    if let rival = rivals.first(where: isEqual) {
                        session.cancel()
                        return rival
                    }
                }
                let (outcome, rival) = try send(part, in: &session)
                switch outcome {
                case .finished(let item): return item
                case .taken:
                    guard !part.isLast else { throw .unavailable(detail: "OneDrive expects more than the whole file") }
                    part = try self.part()
                case .exists:
                    try part.arrive()
                    guard let rival, isEqual(rival) else {
                        throw .unavailable(detail: "the object's name was taken during the upload")
                    }
                    session.cancel()
                    return rival
                case .lost:
                    if part.isLast {
                        try part.arrive()
                        if let item = try existing(session.name), isEqual(item) { return item }
                    }
                    // The bytes of earlier parts are gone; while the first part is still in memory, the upload can
                    // start over.
                    guard part.offset == 0, mayRestart else { throw lost() }
                    var begun: OneDriveUploadSession?
                    (begun, rivals) = try startSession()
                    guard let fresh = begun else { throw .unavailable(detail: "the object's names were taken") }
                    session = fresh
                    mayRestart = false
                }
            }
        } catch {
            // An upload in pieces may continue in the session.
            if content.resumption == nil { session.cancel() }
            throw error
        }
    }

    /// Sends a part, or only the bytes that have arrived if the phone interrupts it.
    private func send(
        _ part: UploadPart, in session: inout OneDriveUploadSession
    ) throws(CloudStorageError) -> (OneDriveUploadSession.Outcome, rival: DriveItem?) {
        try content.salvaging(part, granularity: Self.granularity) { part, isRepetition throws(CloudStorageError) in
            try sendWhenFree(part, in: &session, isPositionKnown: !isRepetition)
        } keep: { part, outcome throws(CloudStorageError) in
            guard case .taken = outcome.0, let resumption = content.resumption else { return }
            try resumption.keep(try OneDriveSavedSession(url: session.url, name: session.name).text)
        }
    }

    /// Sends a part, and repeats it if the session is busy: a request whose connection broke may still be in progress.
    /// - Returns: also the item that has taken the name meanwhile, if that is the outcome.
    private func sendWhenFree(
        _ part: UploadPart, in session: inout OneDriveUploadSession, isPositionKnown: Bool
    ) throws(CloudStorageError) -> (OneDriveUploadSession.Outcome, rival: DriveItem?) {
        var attempt = 0
        while true {
            let outcome = try session.send(part, within: patience, isPositionKnown: isPositionKnown)
            guard case .exists = outcome else { return (outcome, nil) }
            if let rival = try existing(session.name) { return (outcome, rival) }
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

    private func lost() -> CloudStorageError {
        content.resumption?.startOver()
        return .unavailable(detail: "OneDrive lost the upload session")
    }

    /// Starts a session under the first free name; `nil` if none is free.
    /// - Returns: also the items of the same size that have the names before it: one of them may turn out to be equal.
    private func startSession() throws(CloudStorageError) -> (OneDriveUploadSession?, rivals: [DriveItem]) {
        var rivals: [DriveItem] = []
        var isBusy = false
        for name in names {
            let reply = try creation.startSession(name, ofBytes: content.lengthBytes)
            guard reply.status == 409 else {
                let state = try ProviderJSON.decode(UploadSessionState.self, reply.body)
                guard let url = state.uploadUrl else { throw .unavailable(detail: "the upload session has no address") }
                let session = try OneDriveUploadSession(
                    url: url, name: name, totalBytes: content.lengthBytes, access: access)
                return (session, rivals)
            }
            // If there is no item, a different session has the name, perhaps one whose reply was lost.
            guard let item = try existing(name) else {
                isBusy = true
                continue
            }
            if item.size == content.lengthBytes { rivals.append(item) }
        }
        if isBusy { throw .unavailable(detail: "another upload session has the object's name") }
        return (nil, rivals)
    }

    /// The item that already has the name.
    private func existing(_ name: String) throws(CloudStorageError) -> DriveItem? {
        try OneDrive.item(named: name, access, by: .after(patience))
    }
}

/// The requests that create an item in the app's folder, or start to create it.
///
/// A name conflict is a valid reply. If the app's folder does not exist, it is created, and the request is repeated
/// once.
struct OneDriveCreation {
    let access: StorageAccess
    /// The time limit of each step.
    let patience: Duration

    /// Requests an upload session ("driveItem: createUploadSession"). The size is documented for personal drives only;
    /// if a drive rejects it, the request is repeated without it.
    /// - Returns: the reply; its status may be 409 if the name is taken.
    func startSession(_ name: String, ofBytes lengthBytes: Int64) throws(CloudStorageError) -> Reply {
        do {
            return try create(Self.sessionRequest(name, bytes: lengthBytes))
        } catch {
            guard case .rejected(let code) = error, code.hasPrefix("400 ") else { throw error }
            return try create(Self.sessionRequest(name, bytes: nil))
        }
    }

    private func create(_ request: OutgoingRequest) throws(CloudStorageError) -> Reply {
        try create { client throws(CloudStorageError) in try client.send(request, by: .after(patience)) }
    }

    private static func sessionRequest(_ name: String, bytes: Int64?) throws(CloudStorageError) -> OutgoingRequest {
        var request = OutgoingRequest(
            .microsoft, .upload, .post, OneDrive.address(ofName: name) + ":/createUploadSession")
        request.headers[.contentType] = "application/json"
        request.body = .bytes(try ProviderJSON.encode(NewUploadSession(item: .init(name: name, fileSize: bytes)))[...])
        return request
    }

    /// - Parameter send: sends a request that creates an item.
    func create(
        _ send: (inout ProviderClient) throws(CloudStorageError) -> Reply
    ) throws(CloudStorageError) -> Reply {
        var client = ProviderClient(access) { reply in
            let verdict = GraphVerdict.classify(reply, accepting: [409])
            return switch verdict {
            case .failure(.rejected) where reply.status == 403: .answer
            case .failure(.notFound): .answer
            default: verdict
            }
        }
        let reply = try send(&client)
        guard reply.status == 403 || reply.status == 404 else { return reply }
        try AppFolder(access: access).fetch(by: .after(patience))
        let second = try send(&client)
        guard second.status == 403 || second.status == 404 else { return second }
        throw .rejected(code: "\(second.status) \(GraphVerdict.codes(second)?.last ?? "unknown")")
    }
}
