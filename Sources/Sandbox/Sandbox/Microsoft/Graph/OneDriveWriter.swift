internal import FoundationEssentials
internal import Posix
internal import StorageHashes

/// Writes an item's bytes as they arrive and computes their quickXorHash at the same time, in constant memory.
struct OneDriveWriter: Sendable {
    let path: String
    /// The number of bytes written and hashed.
    private(set) var count = 0
    private var hash = QuickXorHash()

    init(path: String) { self.path = path }

    /// The hash of the written bytes, in base64.
    var quickXorHash: String { Data(hash.digest()).base64EncodedString() }

    /// Appends the request's body.
    ///
    /// An interrupted request leaves nothing behind.
    /// - Parameter keep: the maximum number of bytes to store; the rest is discarded.
    /// - Returns: the number of bytes in the request.
    /// - Throws: ``RequestBodyError/cut``.
    mutating func append(_ request: SandboxRequest, keep: Int? = nil) throws -> Int {
        let before = self
        var after = self
        let file = try StorageError.translating { () throws(PosixError) in try RegularFile(path, for: .writing) }
        let ending = try BodyPump.run(request.body, keep: keep) { piece throws(StorageError) in
            do { try file.write(piece.span, at: after.count) } catch { throw StorageError(description: "\(error)") }
            after.hash.update(piece)
            after.count += piece.count
        }
        guard case .complete(let received) = ending else {
            self = before
            throw RequestBodyError.cut
        }
        self = after
        return received
    }

    /// Stores a request's whole body.
    static func store(_ request: SandboxRequest, in directory: StateDirectory) throws -> OneDriveContent {
        var writer = OneDriveWriter(path: directory.uploadPath("single-" + RandomText.token(24)))
        do {
            _ = try writer.append(request)
        } catch {
            directory.remove(writer.path)
            throw error
        }
        return OneDriveContent(
            path: writer.path, size: writer.count, quickXorHash: writer.quickXorHash,
            contentType: request.header("content-type"))
    }
}
