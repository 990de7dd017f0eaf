import CloudStorage
import Logging
import Store
import SyncProtocol
import UserStorage

/// The promise, committed before the first byte goes to a cloud, that an upload will clean up after itself.
///
/// It is a leased row of the outbox. If this process dies, the lease runs out and the jobs role deletes the object.
final class UploadIntent {
    /// How long the jobs role leaves the object alone after a sign of life. At least 75 of these seconds are left when the
    /// last part goes out: more than that part and the staging may take.
    private static let leaseSeconds: Int64 = 90
    private static let renewalInterval: Duration = .seconds(15)
    private static let confirmationAge: Duration = .milliseconds(50)
    private static let confirmationLimit: Duration = .seconds(3)

    let item: OutboxID
    let leaseOwner: String
    /// The object that the upload has made or found, where it was not known beforehand.
    var objectID: String?
    private let context: RequestContext
    private var renewed = ContinuousClock.now

    init(
        toStore reservation: ObjectReservation, in owner: OwningUser, context: RequestContext
    ) throws {
        let leaseOwner = try context.services.makeUUID()
        item = try context.store.withSession { session in
            try session.addIntent(
                toStore: reservation.objectID, named: reservation.name, in: owner, leaseOwner: leaseOwner,
                until: Self.leaseEnd(context), at: context.now)
        }
        self.leaseOwner = leaseOwner
        self.context = context
    }

    /// Gives a sign of life if it is time for one.
    /// - Throws: ``EndpointError/uploadConflict`` if the object may be deleted at any moment.
    func keepAlive() throws {
        guard renewed.duration(to: .now) > Self.renewalInterval else { return }
        try renew()
    }

    private func renew() throws {
        let isOurs = try context.store.transaction { session in
            try session.renewLease(of: item, by: leaseOwner, until: Self.leaseEnd(context))
        }
        guard isOurs else { throw EndpointError.uploadConflict }
        renewed = .now
    }

    /// Makes sure that the object about to exist can still be staged: that the database is there, and the lease ours for
    /// long enough.
    ///
    /// A sign of life that is a moment old is proof enough.
    /// - Throws: ``StoreError``, ``EndpointError/uploadConflict``.
    func confirm() throws {
        let age = renewed.duration(to: .now)
        guard age > Self.confirmationAge else { return }
        guard age < Self.confirmationLimit else { return try renew() }
        let isOurs = try context.store.withSession { try $0.isLeased(item, by: leaseOwner) }
        guard isOurs else { throw EndpointError.uploadConflict }
    }

    /// Gives the object up: the jobs role deletes it at once, if it exists. Errors do not matter, since the lease ends.
    func giveUp() {
        do {
            try context.store.transaction { session in
                if let objectID { try session.record(objectID: objectID, in: item, by: leaseOwner) }
                try session.releaseLease(of: item, by: leaseOwner, at: context.now)
            }
        } catch {
            context.logger.info("Upload intent left to its lease", metadata: .keyed([.reason: "\(error)"]))
        }
    }

    private static func leaseEnd(_ context: RequestContext) -> WireDate {
        WireDate(secondsSince1970: context.now.secondsSince1970 + leaseSeconds)
    }
}
