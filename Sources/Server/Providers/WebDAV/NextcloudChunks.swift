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
/// sent again.
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
    ///   - target: the address of the assembled file.
    /// - Returns: `nil` if the server does not accept chunks, or if the content needs more chunks than allowed.
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

    /// The tail's name or address, derived from the upload's.
    static func tail(of upload: String) -> String { upload + ".tail" }

    /// Sends the whole content.
    /// - Parameter part: obtains a part.
    /// - Returns: `nil` if the server turns out not to accept chunks; in that case nothing of the content was used.
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

    /// Sends content that comes in pieces.
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

    /// Creates the folder; the reply shows whether the server accepts chunks.
    private func begin() throws(CloudStorageError) -> Bool {
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

    /// Sends one chunk.
    /// - Returns: whether the server has proved that it received the right bytes.
    fileprivate func send(
        _ part: UploadPart, _ number: Int, within patience: Duration
    ) throws(CloudStorageError) -> Bool {
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
            throw content.resumption == nil ? .unavailable(detail: "the server has lost the upload") : .notFound
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

/// Chunks whose bytes come in pieces of any size. The tail is stored next to the assembled file: in that file's place,
/// a Nextcloud whose storage is in S3 would mistake it for the upload's own target.
private struct NextcloudPieces: PartAssembly {
    struct State: Codable {
        var chunks = 0
        var tailBytes = 0
        /// Whether the server has proved so far that it received the right bytes.
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
