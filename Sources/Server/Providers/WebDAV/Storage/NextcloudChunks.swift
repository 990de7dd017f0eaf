import HTTPTransport
import HTTPTypes
import OpenSSLCrypto

extension HTTPField.Name {
    static let ownCloudTotalLength = HTTPField.Name("OC-Total-Length")!
}

/// Large content in chunks, from which the server assembles a file (Nextcloud Developer Manual, "Chunked file upload",
/// version 2).
///
/// The chunks lie in a folder of their own, which nobody sees and which the server deletes when it was not used for a
/// day. A chunk may be sent again.
struct NextcloudChunks {
    private static let cleaningTime: Duration = .seconds(5)
    /// Chunks are numbered from 1 to 10 000.
    private static let maximumChunks: Int64 = 10_000

    private let folder: String
    private let target: String
    /// The address of the tail, if the content comes in pieces.
    fileprivate let tail: String
    private let content: any UploadContent
    private let client: WebDAVClient

    /// - Parameters:
    ///   - upload: the name of the chunks' folder.
    ///   - target: the address of the file that they become.
    /// - Returns: `nil` if the server takes no chunks, or more of them would be needed than it takes.
    init?(upload: String, target: String, content: any UploadContent, client: WebDAVClient) {
        guard let paths = NextcloudPaths(client.address), client.memory.takesChunks(client.account) != false,
            content.lengthBytes <= Self.maximumChunks * Int64(WebDAVUpload.granularity)
        else { return nil }
        folder = paths.upload(upload)
        self.target = target
        tail = Self.tail(of: target)
        self.content = content
        self.client = client
    }

    /// What the tail is called that belongs to the name, or the address, of an upload.
    static func tail(of upload: String) -> String { upload + ".tail" }

    /// Sends the whole content.
    /// - Parameter part: obtains a part.
    /// - Returns: `nil` if the server turns out to take no chunks; then nothing of the content was used.
    func send(
        within patience: Duration, part: (() throws -> UploadPart) throws(CloudStorageError) -> UploadPart
    ) throws(CloudStorageError) -> WebDAVUpload.Written? {
        guard try begin() else { return nil }
        do throws(CloudStorageError) {
            var number = 0
            var isProven = true
            while true {
                let next = try part { try content.nextPart(granularity: WebDAVUpload.granularity) }
                number += 1
                isProven = try send(next, number, within: patience) && isProven
                if next.isLast { break }
            }
            return WebDAVUpload.Written(fileID: try assemble(by: .after(patience)), isProven: isProven)
        } catch {
            switch error {
            case .contentFailed, .contentMismatch: _ = try? client.remove(folder, by: .after(Self.cleaningTime))
            default: break
            }
            throw error
        }
    }

    /// The same for content that comes in pieces.
    func send(
        _ resumption: any UploadResumption, within patience: Duration
    ) throws(CloudStorageError) -> WebDAVUpload.Written? {
        var pieces = NextcloudPieces(chunks: self, client: client, patience: patience)
        if let text = resumption.session {
            pieces.state = try ProviderJSON.decode(NextcloudPieces.State.self, Array(text.utf8))
        } else {
            guard try begin() else { return nil }
        }
        let last = try pieces.send(content, resumption, tailBytes: pieces.state.tailBytes)
        do throws(CloudStorageError) {
            try pieces.add(last)
            let written = WebDAVUpload.Written(
                fileID: try assemble(by: .after(patience)), isProven: pieces.state.isProven)
            _ = try? client.remove(tail, by: .after(Self.cleaningTime))
            return written
        } catch .notFound {
            throw NextcloudPieces.lost(resumption)
        }
    }

    private var headers: HTTPFields {
        [.destination: target, .ownCloudTotalLength: "\(content.lengthBytes)"]
    }

    /// Creates the folder; what the server replies to that shows whether it takes chunks.
    private func begin() throws(CloudStorageError) -> Bool {
        let request = client.request(.metadata, .makeCollection, folder, headers: headers)
        let statuses: Set = [400, 403, 404, 405, 409, 415, 501]
        var reply = try client.send(request, accepting: statuses)
        if reply.status == 405, content.resumption != nil, try client.remove(folder) {
            // What an upload that is starting over has left, of which Nextcloud may know nothing any more.
            reply = try client.send(request, accepting: statuses)
        }
        // 405: the folder exists, since a reply was lost. A server that does not allow the method has no such folder.
        let takesChunks =
            reply.status == 201
            || (reply.status == 405
                && client.memory.takesChunks(client.account) == true)
        if reply.status != 405 { client.memory.remember(takesChunks: takesChunks, client.account) }
        return takesChunks
    }

    /// Sends one chunk.
    /// - Returns: whether the server has proven that it has the right bytes.
    fileprivate func send(
        _ part: UploadPart, _ number: Int, within patience: Duration
    ) throws(CloudStorageError) -> Bool {
        let digits = "\(number)"
        let name = String(repeating: "0", count: 5 - digits.utf8.count) + digits
        var headers = headers
        headers[.hashWanted] = "md5"
        let request = client.request(.upload, .put, folder + "/" + name, headers: headers, body: part.body())
        // 412: Nextcloud has forgotten what it knew about the upload, which it does after a day.
        var provider = client.provider(accepting: [400, 404, 409, 412])
        let reply = try provider.send(request, with: part, within: patience)
        guard reply.status != 400 else { throw WebDAVUpload.failure(of: reply) }
        guard reply.status < 300 else {
            throw content.resumption == nil ? .unavailable(detail: "the server has forgotten the upload") : .notFound
        }
        guard reply.head.headers[.md5Received] != nil else { return false }
        var digest = IncrementalDigest(.md5)
        digest.update(try part.whole())
        return try WebDAVUpload.written(reply, hash: digest.finish().hexLowercase).isProven
    }

    /// Has the chunks assembled, which may take longer than a proxy waits: 504 or 423 then, and 404 once it is done; also the
    /// first time, since libcurl repeats a request by itself whose connection ends without a byte. So the file is looked for
    /// after any failure.
    /// - Returns: the file's `oc:fileid`, if the reply tells it.
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
            // The chunks together are not as long as announced.
            case .answer(let reply) where reply.status == 400: throw .contentMismatch
            case .answer(let reply):
                if isAssembled(by: deadline) { return nil }
                throw .unavailable(detail: "status \(reply.status) instead of a file of the chunks")
            case .unknown(let retryAfter, let error):
                if case .rateLimited = error {} else if isAssembled(by: deadline) { return nil }
                failure = (retryAfter, error)
            }
            attempt += 1
            try provider.wait(before: attempt, retryAfter: failure.0, by: deadline, orThrow: failure.1)
        }
    }

    /// Whether the file is there, whose name is this upload's own, after one look. While Nextcloud still assembles it, it is
    /// not yet as long.
    private func isAssembled(by deadline: Deadline) -> Bool {
        guard let names = client.address.names(ofReference: target) else { return false }
        do throws(CloudStorageError) {
            return try client.lookOnce(at: names, by: deadline)??.sizeBytes == content.lengthBytes
        } catch {
            return false
        }
    }
}

/// Chunks whose bytes come in pieces of any size. The tail lies beside the file that they become: in its place, a Nextcloud
/// whose storage is in S3 would take it for the upload's own target.
private struct NextcloudPieces: PartAssembly {
    struct State: Codable {
        var chunks = 0
        var tailBytes = 0
        /// Whether the server has proven so far that it has the right bytes.
        var isProven = true
    }

    let chunks: NextcloudChunks
    let client: WebDAVClient
    let patience: Duration
    var state = State()

    var partBytes: Int { WebDAVUpload.granularity }

    mutating func add(_ bytes: [UInt8]) throws(CloudStorageError) {
        let part = UploadPart(bytes: bytes[...], offset: 0, isLast: false)
        let isProven = try chunks.send(part, state.chunks + 1, within: patience)
        state.chunks += 1
        state.isProven = state.isProven && isProven
    }

    func storeTail(_ bytes: [UInt8]) throws(CloudStorageError) {
        let request = client.request(.upload, .put, chunks.tail, body: .bytes(bytes[...]))
        var provider = client.provider(accepting: [])
        _ = try provider.send(request, by: .after(patience))
    }

    func tail(bytes count: Int) throws(CloudStorageError) -> [UInt8]? {
        // A request that did not end properly may have stored more than it could record.
        var download = client.by(.after(patience)).download()
        return try download.prefix(count, of: chunks.tail)
    }

    func saved(tailBytes: Int) throws(CloudStorageError) -> String {
        var state = state
        state.tailBytes = tailBytes
        return String(decoding: try ProviderJSON.encode(state), as: UTF8.self)
    }
}
