import Providers
import Store
import SyncProtocol
import Vault

/// Handles an unreferenced object. Only objects that this server certainly left behind may be deleted. Another server
/// of the same app may use the same folder, the owner may have copied the object, or the database may have been
/// restored from a backup older than the object: such an object is only reported.
struct StrayObjects {
    /// The server itself cleans up younger objects: its leases and postponements are far shorter.
    static let safetySeconds: Int64 = 86_400

    let store: MetadataStore
    let owner: OwningUser
    let repairs: Bool
    let report: (CloudProblem, Violation) -> Void
    let repaired: (CloudProblem) -> Void

    /// - Parameter name: the object's original name.
    /// - Throws: ``StoreError``.
    func handle(_ object: StoredObject, _ name: CloudFileName) throws {
        let description = "\(object.name), \(object.sizeBytes) bytes"
        let row = "object \(object.objectID) of user \(owner.userID)"
        if let reason = try reasonToKeep(object, name) {
            return report(.objectUnknown, Violation(row: row, detail: "\(description): \(reason)"))
        }
        guard repairs else { return report(.objectOrphaned, Violation(row: row, detail: description)) }
        let isScheduled = try store.transaction { session in
            try session.scheduleDeletion(ofOrphan: object, named: name, in: owner, at: store.now)
        }
        if isScheduled { repaired(.objectOrphaned) }
    }

    /// Why an object must stay; `nil` if it is certainly unused.
    private func reasonToKeep(_ object: StoredObject, _ name: CloudFileName) throws -> String? {
        guard let createdAt = object.createdAt else { return "its provider does not report its age" }
        guard store.now.secondsSince1970 - createdAt.secondsSince1970 > Self.safetySeconds else {
            return "less than a day old"
        }
        let origin = try store.withSession { session in
            try session.origin(of: name, createdAt: createdAt, in: owner.userID)
        }
        if origin.isOfUnknownTime { return "uploaded between a backup and its restoration" }
        // If the file's object is lost, a download would find this one by its name.
        if origin.hasPresentName { return "has the same name as the file's current version" }
        if let committed = origin.committedVersion {
            return name.fileVersion > committed ? "has a later version than the file" : nil
        }
        if origin.isOwnerImported { return "may be a file of the older server that was not imported" }
        return origin.isDeviceKnown ? nil : "this server knows neither its file nor its device"
    }
}

extension StoreSession {
    /// Schedules an object's deletion in the outbox, unless something refers to it. Call it in a transaction. After the
    /// commit, no file can adopt the object. The jobs role checks again that no row refers to it before it deletes it
    /// (``isReferenced(_:of:)``).
    /// - Parameter name: the object's original name.
    /// - Returns: whether the deletion was scheduled.
    mutating func scheduleDeletion(
        ofOrphan object: StoredObject, named name: CloudFileName, in owner: OwningUser, at now: WireDate
    ) throws(StoreError) -> Bool {
        // The removal of an owner also removes their work.
        guard try holdUser(owner.userID) else { return false }
        guard try !isReferenced(object.objectID, of: owner), try !isReferenced(name, of: owner),
            try !isKnown(object.objectID, named: name, actualName: object.name, of: owner.userID)
        else { return false }
        try addDeletion(ofOrphan: object.objectID, named: name, in: owner, at: now)
        return true
    }
}
