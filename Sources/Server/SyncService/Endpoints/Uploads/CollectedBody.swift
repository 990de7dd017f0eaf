import Providers
import SyncProtocol

/// The body of a client that knows a file by the storage that its owner has left, and announces that storage's checksum: it
/// is collected in memory, since the present storage must be told a hash that only all of the bytes reveal.
///
/// Such a client reads the index before its next upload, so this is for the few that do not take over what it says.
final class CollectedBody {
    /// The largest body that is collected.
    private static let limitBytes: Int64 = 8 << 20

    let content: BytesContent
    /// In the flavour of the present storage.
    let hashes: ContentHashes
    private let budget: PartBudget
    private let reservedBytes: Int

    /// Reads the whole body.
    /// - Parameter checkSum: the announced one, in the canonical form of its flavour.
    /// - Throws: ``EndpointError/checkSumMismatch`` if it is another one, or the body is too large for this;
    ///   ``EndpointError/directionFull`` if there is no memory for it now.
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
        // Until everything is set, there is no instance whose end would put the memory back.
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
