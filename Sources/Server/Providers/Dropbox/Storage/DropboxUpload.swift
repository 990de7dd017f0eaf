import HTTPTransport
import HTTPTypes

/// An upload to Dropbox: in a single request if the content is small, otherwise through an upload session (HTTP
/// documentation, `files/upload` and `files/upload_session`).
///
/// Bytes are sent as they arrive. A session's bytes have no path, so nothing becomes visible before Dropbox accepts the
/// request with the last part.
struct DropboxUpload {
    /// Parts are multiples of this size; a sequential session accepts any size.
    static let granularity = 256 * 1024

    let content: any UploadContent
    let reservation: ObjectReservation
    let access: StorageAccess
    /// The time limit of each step, measured from the arrival of its bytes: phones may be slower than any deadline.
    private let patience: Duration

    init(content: any UploadContent, reservation: ObjectReservation, access: StorageAccess) {
        self.content = content
        self.reservation = reservation
        self.access = access
        patience = access.deadline.remaining
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let file = try send()
        guard isOurs(file) else { throw .contentMismatch }
        return file.stored
    }

    private func send() throws(CloudStorageError) -> DropboxFile {
        // While an upload link that somebody else may use still works, no bytes have arrived.
        if let resumption = content.resumption, let id = resumption.session, !Dropbox.isLink(id) {
            return try resume(resumption, DropboxUploadSession(id: id, access: access))
        }
        let first = try part()
        let isSmall = content.resumption.map { first.count <= type(of: $0).smallBytes } ?? true
        return try first.isLast && isSmall ? sendWhole(first) : sendInSession(first)
    }

    private func part() throws(CloudStorageError) -> UploadPart {
        // Content that comes in pieces may end at any byte.
        try content.part(granularity: content.resumption == nil ? Self.granularity : 1)
    }

    // MARK: Small content

    private func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DropboxFile {
        try underFreeName { name throws(CloudStorageError) in
            var client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: ["conflict"]) }
            // Dropbox also rejects bytes with a different hash.
            let argument = DropboxWholeUpload(
                commit: DropboxCommit(path: Dropbox.path(name)), contentHash: content.providerHash)
            let request = try Self.request("upload", argument, part.body())
            let reply = try client.send(request, with: part, within: patience)
            return reply.status == 409 ? nil : try ProviderJSON.decode(DropboxFile.self, reply.body)
        }
    }

    // MARK: Upload session

    private func sendInSession(_ first: UploadPart) throws(CloudStorageError) -> DropboxFile {
        guard content.resumption == nil, !first.isLast else {
            let none = UploadPart(bytes: [], offset: 0, isLast: false)
            return try transfer(first, in: DropboxUploadSession(none, access: access, within: patience))
        }
        let session = try DropboxUploadSession(first, access: access, within: patience)
        return try transfer(part(), in: session)
    }

    /// Continues the session of an earlier request.
    private func resume(
        _ resumption: any UploadResumption, _ session: DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        var session = session
        if !resumption.isPositionCertain {
            guard let position = try session.position(expected: resumption.position, by: .after(patience)) else {
                // The previous request may have published the file.
                for name in names {
                    guard let file = try existing(name), isOurs(file) else { continue }
                    try content.verifyRest(from: part(), granularity: 1)
                    return file
                }
                throw lost()
            }
            guard position >= resumption.position else { throw lost() }
            do { try resumption.skip(to: position) } catch { throw .contentFailed(error) }
        }
        return try transfer(part(), in: session)
    }

    /// Sends everything from `first` onwards.
    private func transfer(
        _ first: UploadPart, in session: DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        var session = session
        var part = first
        while !part.isLast {
            try append(part, to: &session)
            part = try self.part()
        }
        do throws(CloudStorageError) {
            return try publish(part, in: &session)
        } catch {
            if case .contentFailed = error, let rest = content.resumption?.arrived(granularity: 1) {
                try append(rest, to: &session)
            }
            throw error
        }
    }

    private func append(
        _ part: UploadPart, to session: inout DropboxUploadSession
    ) throws(CloudStorageError) {
        let isTaken = try content.salvaging(part, granularity: 1) { part, _ throws(CloudStorageError) in
            try session.append(part, within: patience)
        } keep: { _, isTaken throws(CloudStorageError) in
            if isTaken { try content.resumption?.keep(session.id) }
        }
        guard isTaken else { throw lost() }
    }

    private func publish(
        _ last: UploadPart, in session: inout DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        try underFreeName { name throws(CloudStorageError) in
            switch try session.finish(last, at: Dropbox.path(name), within: patience) {
            case .published(let file): return file
            case .taken: return nil
            case .lost:
                guard let file = try existing(name), isOurs(file) else { throw lost() }
                return file
            }
        }
    }

    private func isOurs(_ file: DropboxFile) -> Bool {
        file.contentHash == content.providerHash && file.size == content.lengthBytes
    }

    private func lost() -> CloudStorageError {
        content.resumption?.startOver()
        return .unavailable(detail: "Dropbox lost the upload session")
    }

    /// The file with that name, if it exists: a finish request whose reply was lost may have created it.
    private func existing(_ name: String) throws(CloudStorageError) -> DropboxFile? {
        do {
            return try Dropbox.describe(Dropbox.path(name), in: access, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    // MARK: Both methods

    private var names: [String] { [reservation.name, reservation.spareName].compactMap(\.self) }

    /// Tries the reservation's names until one is free; `attempt` returns `nil` if the name has other contents.
    private func underFreeName(
        _ attempt: (String) throws(CloudStorageError) -> DropboxFile?
    ) throws(CloudStorageError) -> DropboxFile {
        for name in names {
            if let file = try attempt(name) { return file }
        }
        throw .contentMismatch
    }

    /// A request whose argument is in a header.
    static func request(
        _ route: String, _ argument: some Encodable, _ body: OutgoingBody
    ) throws(CloudStorageError) -> OutgoingRequest {
        OutgoingRequest(
            .dropbox, .upload, .post, Dropbox.content + route,
            headers: [
                .contentType: "application/octet-stream", .dropboxArgument: try DropboxJSON.header(argument),
            ], body: body)
    }
}
