import Providers
import SyncProtocol

/// Deletes everything that trials have left in a storage, also what an interrupted upload did not finish.
struct TrialCleanUp {
    private let trial: TrialAccount

    init(_ trial: TrialAccount) { self.trial = trial }

    func run() throws -> TrialVerdict {
        let provider = try trial.requireStorage()
        var failures = 0
        var deleted: Set<String> = []
        func delete(_ objectID: String) {
            guard deleted.insert(objectID).inserted else { return }
            do { try provider.delete(objectID: objectID, in: trial.access) } catch { failures += 1 }
        }
        for upload in trial.objects.values {
            if let objectID = upload.stored?.objectID ?? upload.reservation.objectID { delete(objectID) }
        }
        // Looking for a name also ends what an interrupted upload of that name has left.
        for name in trial.names.sorted() {
            do {
                if let found = try provider.find(name: name, in: trial.access) { delete(found.objectID) }
            } catch {
                failures += 1
            }
        }
        var others = 0
        for _ in 0..<2 {
            others = 0
            var own: [StoredObject] = []
            try provider.list(in: trial.access) { page in
                own += page.filter { $0.name.hasPrefix(TrialAccount.objectPrefix) }
                others += page.count { !$0.name.hasPrefix(TrialAccount.objectPrefix) }
            }
            for object in own { delete(object.objectID) }
        }
        guard failures == 0 else {
            return .failed(
                "\(failures) deletions failed: remove what begins with \(TrialAccount.objectPrefix) from the storage by hand")
        }
        if others == 0, let owner = try trial.requireOwner() { try owner.removeEmptyFolder(in: trial.access) }
        return .passed("nothing is left")
    }
}
