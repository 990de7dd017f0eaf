import OpenSSLCrypto
import Posix
import Store
import SyncProtocol

/// Tells the other hosts, by a row in the database, that this process runs and which sealing keys it has, so that nobody
/// gives up a key that it needs (`syncctl keys rotate`).
struct SignOfLife {
    private let holder: KeyHolder
    private let store: MetadataStore
    private var next = ContinuousClock.now

    /// - Parameter holder: this process.
    init(of holder: KeyHolder, store: MetadataStore) {
        self.holder = holder
        self.store = store
    }

    /// Gives a sign if it is time for one. A database that does not take it is tried again at the next time: what nobody
    /// knows of for two minutes counts as ended.
    mutating func giveIfDue() {
        guard next <= .now else { return }
        next = .now + .seconds(KeyHolder.renewalSeconds)
        // As a change like any other: so it is known whether the database takes any.
        try? store.repeatedStatement { try $0.renew(holder, at: store.now) }
    }

    /// Says that the process ends.
    func end() {
        try? store.withSession { try $0.removeKeyHolder(holder.processUUID) }
    }
}

extension KeyHolder {
    /// This process.
    init(ownUUID: String, role: ServerRole, keys: KeyRing) {
        self.init(
            processUUID: ownUUID, hostName: HostFacts.name, role: role, processID: HostFacts.processID,
            sealingKey: keys.current.name, openingKeys: keys.openingNames)
    }
}
