import OpenSSLCrypto
import Posix
import Store
import SyncProtocol

/// Announces to the other hosts, in a row of the database, that this process runs and which sealing keys it has, so
/// that `syncctl keys rotate` does not remove a key that it needs.
struct SignOfLife {
    private let holder: KeyHolder
    private let store: MetadataStore
    private var next = ContinuousClock.now

    /// - Parameter holder: this process.
    init(of holder: KeyHolder, store: MetadataStore) {
        self.holder = holder
        self.store = store
    }

    /// Renews the row if it is time. Retries at the next interval if the database rejects the change: a process without
    /// a renewal for two minutes counts as ended.
    mutating func giveIfDue() {
        guard next <= .now else { return }
        next = .now + .seconds(KeyHolder.renewalSeconds)
        // An ordinary change, which also shows whether the database accepts any.
        try? store.repeatedStatement { try $0.renew(holder, at: store.now) }
    }

    /// Removes the row because the process ends.
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
