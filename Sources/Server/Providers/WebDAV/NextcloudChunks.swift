import HTTPTransport
import HTTPTypes
import OpenSSLCrypto

extension HTTPField.Name {
    static let ownCloudTotalLength = HTTPField.Name("OC-Total-Length")!
}

/// Large content in chunks, from which the server assembles a file (Nextcloud Developer Manual, "Chunked file upload",
/// version 2).
///
/// The chunks are stored in a separate hidden folder, which the server deletes after a day without use. A chunk may be
/// sent again. The tail is stored next to the assembled file: in that file's place, a Nextcloud server whose storage is
/// in S3 would mistake it for the upload's own target.
struct NextcloudChunks: PartAssembly {
    private static let cleaningTime: Duration = .seconds(5)
    /// Chunks are numbered from 1 to 10 000.
    private static let maximumChunks: Int64 = 10_000

    private let folder: String
    private let target: String
    let content: any UploadContent
    private let client: WebDAVClient
    private let patience: Duration
    var collected = CollectedPart()
    private var state = State()

    /// What another request needs to continue.
    private struct State: Codable {
        var chunks = 0
        var tailBytes = 0
        /// Whether the server has proved so far that it received the right bytes.
        var isProven = true
    }

    /// - Parameters:
    ///   - upload: the name of the chunks' folder.
    ///   - target: the address of the assembled file.
    ///   - patience: the time limit of each step, measured from the arrival of its bytes.
    /// - Returns: `nil` if the server does not accept chunks, or if the content needs more chunks than allowed.
    init?(
        upload: String, target: String, content: any UploadContent, client: WebDAVClient, within patience: Duration
    ) {
        guard let paths = NextcloudPaths(client.address), client.memory.takesChunks(client.account) != false,
            content.lengthBytes <= Self.maximumChunks * Int64(WebDAVUpload.granularity)
        else { return nil }
        folder = paths.upload(upload)
        self.target = target
        self.content = content
        self.client = client
        self.patience = patience
    }

    var partBytes: Int { WebDAVUpload.granularity }
    var isInPieces: Bool { content.resumption != nil }
    var hasBegun: Bool { true }

    /// ``WebDAVUpload`` sends small content.
    var rules: PartRules {
        PartRules(
            granularity: isInPieces ? 1 : partBytes, longest: isInPieces ? partBytes - collected.bytes.count : .max,
            whole: 0, restarts: false, collects: isInPieces)
    }

    /// As the only chunk.
    mutating func sendWhole(_ part: UploadPart) throws(CloudStorageError) -> WebDAVUpload.Written {
        try finish(part)
    }

    /// ``makeFolder()`` has begun the session.
    func begin() -> (() throws(CloudStorageError) -> WebDAVUpload.Written)? { nil }

    /// Creates the folder; the reply shows whether the server accepts chunks. If it does not, none of the content has
    /// been used.
    func makeFolder() throws(CloudStorageError) -> Bool {
        let request = client.request(.metadata, .makeCollection, folder, headers: headers)
        let statuses: Set = [400, 403, 404, 405, 409, 415, 501]
        var reply = try client.send(request, accepting: statuses)
        if reply.status == 405, content.resumption != nil, try client.remove(folder) {
            // The remains of an upload that is starting over, of which Nextcloud may no longer know anything.
            reply = try client.send(request, accepting: statuses)
        }
        // 405: the folder exists because a reply was lost. A server that does not allow the method has no such folder.
        let takesChunks =
            reply.status == 201
            || (reply.status == 405
                && client.memory.takesChunks(client.account) == true)
        if reply.status != 405 { client.memory.remember(takesChunks: takesChunks, client.account) }
        return takesChunks
    }

    var record: String {
        get throws(CloudStorageError) {
            var state = state
            state.tailBytes = collected.bytes.count
            return String(decoding: try ProviderJSON.encode(state), as: UTF8.self)
        }
    }

    mutating func open(_ record: String) throws(CloudStorageError) -> Bool {
        state = try ProviderJSON.decode(State.self, Array(record.utf8))
        try takeTail(state.tailBytes)
        return true
    }

    mutating func add(_ part: UploadPart) throws(CloudStorageError) {
        let isProven = try send(part, as: state.chunks + 1)
        state.chunks += 1
        state.isProven = state.isProven && isProven
    }

    mutating func finish(_ last: UploadPart) throws(CloudStorageError) -> WebDAVUpload.Written {
        do throws(CloudStorageError) {
            try add(last)
            let written = WebDAVUpload.Written(
                fileID: try assemble(by: .after(patience)), isProven: state.isProven)
            if isInPieces { _ = try? client.remove(Self.tail(of: target), by: .after(Self.cleaningTime)) }
            return written
        } catch {
            if isInPieces, case .notFound = error { throw lost() }
            throw error
        }
    }

    func failed(_ error: CloudStorageError) -> CloudStorageError {
        switch error {
        case .contentFailed, .contentMismatch:
            if !isInPieces { _ = try? client.remove(folder, by: .after(Self.cleaningTime)) }
        default: break
        }
        return error
    }

    /// The tail's name or address, derived from the upload's.
    static func tail(of upload: String) -> String { upload + ".tail" }

    func storeTail(_ bytes: [UInt8]) throws(CloudStorageError) {
        let request = client.request(.upload, .put, Self.tail(of: target), body: .bytes(bytes[...]))
        var provider = client.provider(accepting: [])
        _ = try provider.send(request, by: .after(patience))
    }

    func tail(bytes count: Int) throws(CloudStorageError) -> [UInt8]? {
        var download = client.by(.after(patience)).download()
        return try download.prefix(count, of: Self.tail(of: target))
    }

    private var headers: HTTPFields {
        [.destination: target, .ownCloudTotalLength: "\(content.lengthBytes)"]
    }

    /// Sends one chunk.
    /// - Returns: whether the server has proved that it received the right bytes.
    private func send(_ part: UploadPart, as number: Int) throws(CloudStorageError) -> Bool {
        let digits = "\(number)"
        let name = String(repeating: "0", count: 5 - digits.utf8.count) + digits
        var headers = headers
        headers[.hashWanted] = "md5"
        let request = client.request(.upload, .put, folder + "/" + name, headers: headers, body: part.body())
        // 412: Nextcloud has lost its record of the upload, as it does after a day.
        var provider = client.provider(accepting: [400, 404, 409, 412])
        let reply = try provider.send(request, with: part, within: patience)
        guard reply.status != 400 else { throw WebDAVUpload.failure(of: reply) }
        guard reply.status < 300 else {
            throw isInPieces ? .notFound : .unavailable(detail: "the server has lost the upload")
        }
        guard reply.head.headers[.md5Received] != nil else { return false }
        var digest = IncrementalDigest(.md5)
        digest.update(try part.whole())
        return try WebDAVUpload.written(reply, hash: digest.finish().hexLowercase).isProven
    }

    /// Requests assembly of the chunks. That may take longer than a proxy waits: the reply is then 504 or 423, and 404
    /// once the assembly is done. The first request may also get a 404, since libcurl itself repeats a request whose
    /// connection ends without a byte. Therefore the file is looked up after any failure.
    /// - Returns: the file's `oc:fileid`, if the reply contains it.
    private func assemble(by deadline: Deadline) throws(CloudStorageError) -> String? {
        var headers = headers
        headers[.overwrite] = "T"
        headers[.ownCloudChecksum] = "MD5:" + content.providerHash
        let move = client.request(.upload, .move, folder + "/.file", headers: headers)
        var provider = client.provider(accepting: [400, 404, 409])
        var attempt = 0
        while true {
            let outcome: SingleOutcome
            do throws(CloudStorageError) { outcome = try provider.sendOnce(move, by: deadline) } catch {
                if isAssembled(by: deadline) { return nil }
                throw error
            }
            let failure: (Duration?, CloudStorageError)
            switch outcome {
            case .answer(let reply) where reply.status < 300:
                return reply.head.headers[.ownCloudFileID].flatMap(WebDAVObjectID.fileID)
            // The total length of the chunks differs from the announced one.
            case .answer(let reply) where reply.status == 400: throw .contentMismatch
            case .answer(let reply):
                if isAssembled(by: deadline) { return nil }
                throw .unavailable(detail: "status \(reply.status) instead of the assembled file")
            case .unknown(let retryAfter, let error):
                if case .rateLimited = error {} else if isAssembled(by: deadline) { return nil }
                failure = (retryAfter, error)
            }
            attempt += 1
            try provider.wait(before: attempt, retryAfter: failure.0, by: deadline, orThrow: failure.1)
        }
    }

    /// Checks once whether the file, whose name is unique to this upload, exists. While Nextcloud is still assembling
    /// it, it is shorter.
    private func isAssembled(by deadline: Deadline) -> Bool {
        guard let names = client.address.names(ofReference: target) else { return false }
        do throws(CloudStorageError) {
            return try client.lookOnce(at: names, by: deadline)??.sizeBytes == content.lengthBytes
        } catch {
            return false
        }
    }
}
