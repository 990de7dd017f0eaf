import HTTPTransport
import HTTPTypes
import Synchronization

/// Identifiers for new objects, fetched from Drive in small batches per account (Drive API, `files.generateIds`).
///
/// Unused identifiers cost nothing, so a process that ends drops its batch.
final class DriveIdentifierReserve: Sendable {
    private static let lot = 16
    private static let maximumAccounts = 1_000
    private let identifiers = Mutex<[Int64: [String]]>([:])

    /// A unique identifier.
    func take(for access: StorageAccess) throws(CloudStorageError) -> String {
        let key = access.tokens.accountKey
        if let known = identifiers.withLock({ $0[key]?.popLast() }) { return known }
        var client = ProviderClient(access) { DriveVerdict.classify($0, accepting: []) }
        let url = OutgoingRequest.url(
            GoogleDrive.files + "/generateIds",
            [("count", "\(Self.lot)"), ("space", "drive"), ("type", "files")])
        var fresh = try ProviderJSON.decode(
            DriveGeneratedIDs.self, try client.send(OutgoingRequest(.google, .metadata, .get, url)).body
        ).ids
        guard let taken = fresh.popLast() else { throw .unavailable(detail: "Drive generated no identifiers") }
        identifiers.withLock { reserve in
            if reserve.count >= Self.maximumAccounts { reserve.removeAll() }
            reserve[key] = fresh
        }
        return taken
    }
}
