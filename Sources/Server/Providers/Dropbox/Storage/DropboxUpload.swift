import HTTPTransport
import HTTPTypes

/// One upload to Dropbox: in a single request if the content is small, else through an upload session
/// (HTTP documentation, `files/upload` and `files/upload_session`).
///
/// Bytes are sent as they arrive. A session's bytes have no path, so nothing becomes visible before the request with the
/// last part is accepted.
struct DropboxUpload {
    /// Parts are multiples of this; a sequential session takes any size.
    static let granularity = 256 * 1024

    let content: any UploadContent
    let reservation: ObjectReservation
    let access: StorageAccess
    /// How long each step may take from the moment its bytes are there: phones may be slower than any deadline.
    private let patience: Duration

    init(content: any UploadContent, reservation: ObjectReservation, access: StorageAccess) {
        self.content = content
        self.reservation = reservation
        self.access = access
        patience = access.deadline.remaining
    }

    func run() throws(CloudStorageError) -> StoredObject {
        let first = try part()
        let file =
            if first.isLast {
                try sendWhole(first)
            } else {
                try sendInSession(first)
            }
        guard file.contentHash == content.providerHash, file.size == content.lengthBytes else {
            throw .contentMismatch
        }
        return file.stored
    }

    private func part() throws(CloudStorageError) -> UploadPart {
        do {
            return try content.nextPart(granularity: Self.granularity)
        } catch {
            throw .contentFailed(error)
        }
    }

    // MARK: Small content

    private func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> DropboxFile {
        try underFreeName { name throws(CloudStorageError) in
            var client = ProviderClient(access) { DropboxVerdict.classify($0, accepting: ["conflict"]) }
            // Dropbox rejects bytes with another hash, too.
            let argument = DropboxWholeUpload(
                commit: DropboxCommit(path: Dropbox.path(name)), contentHash: content.providerHash)
            let request = try Self.request("upload", argument, part.body())
            let reply = try client.send(request, with: part, within: patience)
            return reply.status == 409 ? nil : try ProviderJSON.decode(DropboxFile.self, reply.body)
        }
    }

    // MARK: Upload session

    private func sendInSession(_ first: UploadPart) throws(CloudStorageError) -> DropboxFile {
        var session = try DropboxUploadSession(first, access: access, within: patience)
        while true {
            let part = try self.part()
            if part.isLast { return try publish(part, in: &session) }
            try session.append(part, within: patience)
        }
    }

    private func publish(
        _ last: UploadPart, in session: inout DropboxUploadSession
    ) throws(CloudStorageError) -> DropboxFile {
        try underFreeName { name throws(CloudStorageError) in
            switch try session.finish(last, at: Dropbox.path(name), within: patience) {
            case .published(let file): return file
            case .taken: return nil
            case .lost:
                guard let file = try existing(name), file.contentHash == content.providerHash,
                    file.size == content.lengthBytes
                else { throw .unavailable(detail: "Dropbox lost the upload session") }
                return file
            }
        }
    }

    /// The file of that name, if there is one: a finish whose reply was lost may have created it.
    private func existing(_ name: String) throws(CloudStorageError) -> DropboxFile? {
        do {
            return try Dropbox.describe(Dropbox.path(name), in: access, by: .after(patience))
        } catch .notFound {
            return nil
        }
    }

    // MARK: Both

    /// Tries the reservation's names until one is free: `attempt` returns `nil` if other contents have it.
    private func underFreeName(
        _ attempt: (String) throws(CloudStorageError) -> DropboxFile?
    ) throws(CloudStorageError) -> DropboxFile {
        for name in [reservation.name, reservation.spareName].compactMap(\.self) {
            if let file = try attempt(name) { return file }
        }
        throw .contentMismatch
    }

    /// A request of the style whose argument stands in a header.
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
