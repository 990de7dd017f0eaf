import Providers
import SyncProtocol

/// The body from a client that knows a file by its owner's former storage, and announces that storage's checksum. It is
/// collected in memory, since the current storage requires a hash that depends on all the bytes.
///
/// Such a client reads the index before its next upload, so this is needed only for the few clients that ignore the
/// change.
final class CollectedBody {
    /// The largest body collected.
    private static let limitBytes: Int64 = 8 << 20

    let content: BytesContent
    /// The hashes for the current storage.
    let hashes: ContentHashes
    private let budget: PartBudget
    private let reservedBytes: Int

    /// Reads the whole body.
    /// - Parameter checkSum: the announced one, in the canonical form of its flavour.
    /// - Throws: ``EndpointError/checkSumMismatch`` if the checksum differs, or the body is too large to collect;
    ///   ``EndpointError/directionFull`` if there is currently no memory for it.
    init(
        of context: RequestContext, lengthBytes: Int64, _ checkSum: CheckSum, for storageType: CloudStorageType
    ) throws {
        guard let flavour = checkSum.flavour, lengthBytes <= Self.limitBytes else {
            throw EndpointError.checkSumMismatch
        }
        budget = context.services.partBudget
        let bytes = Int(lengthBytes)
        guard budget.take(exactly: bytes) else { throw EndpointError.directionFull }
        reservedBytes = bytes
        // Until all properties are set, there is no instance whose deinitializer would return the memory.
        let body: [UInt8]
        var announced = CheckSumHasher(flavour: flavour)
        var present = ContentHasher(for: storageType)
        do {
            body = try context.body.readWhole()
            var surplus: [UInt8] = [0]
            guard try context.body.read(into: &surplus) == 0 else { throw EndpointError.bodyLengthMismatch }
            announced.update(body.span)
            guard announced.finish() == checkSum else { throw EndpointError.checkSumMismatch }
        } catch {
            budget.putBack(bytes)
            throw error
        }
        present.update(body.span)
        hashes = present.finish()
        content = BytesContent(body, for: storageType)
    }

    deinit { budget.putBack(reservedBytes) }
}
