import Synchronization

/// The address that one download uses until the host rejects it.
final class PresentAddress {
    var url: String?
    init(_ url: String?) { self.url = url }
}

/// Download addresses that came with a description. They save a request for the download that usually follows at once.
///
/// Kept only in this process's memory. Each is used once, soon after it was issued; an address that no longer works is
/// replaced by a new one.
final class DownloadAddresses: Sendable {
    private struct Key: Hashable {
        var account: Int64
        var objectID: String
    }
    private struct Entry {
        var url: String
        var kept: ContinuousClock.Instant
    }
    private static let lifetime: Duration = .seconds(60)
    private static let maximumEntries = 1_000
    private let entries = Mutex<[Key: Entry]>([:])

    func keep(_ url: String, of objectID: String, _ account: Int64) {
        guard let url = try? ContentHost.checked(url) else { return }
        entries.withLock { entries in
            if entries.count >= Self.maximumEntries { entries.removeAll() }
            entries[Key(account: account, objectID: objectID)] = Entry(url: url, kept: .now)
        }
    }

    func take(_ objectID: String, _ account: Int64) -> String? {
        let entry = entries.withLock { $0.removeValue(forKey: Key(account: account, objectID: objectID)) }
        guard let entry, entry.kept.duration(to: .now) < Self.lifetime else { return nil }
        return entry.url
    }
}
