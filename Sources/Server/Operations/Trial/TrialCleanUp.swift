import Providers
import SyncProtocol

/// Deletes all objects that trials have left in a storage, including unfinished parts of interrupted uploads.
struct TrialCleanUp {
    private let trial: TrialAccount

    init(_ trial: TrialAccount) { self.trial = trial }

    func run() throws -> TrialVerdict {
        let provider = try trial.requireStorage()
        for upload in trial.objects.values {
            if let objectID = upload.stored?.objectID ?? upload.reservation.objectID { delete(objectID, in: provider) }
        }
        // Looking up a name also ends an interrupted upload with that name.
        for name in trial.names.sorted() {
            if let found = try? provider.find(name: name, in: trial.access) { delete(found.objectID, in: provider) }
        }
        var others = 0
        let isEmpty = try trial.eventually {
            var own: [StoredObject] = []
            others = 0
            try provider.list(in: trial.access) { page in
                own += page.filter { $0.name.hasPrefix(TrialAccount.objectPrefix) }
                others += page.count { !$0.name.hasPrefix(TrialAccount.objectPrefix) }
            }
            for object in own { delete(object.objectID, in: provider) }
            return own.isEmpty
        }
        guard isEmpty else {
            return .failed(
                "some objects remain: remove those whose names begin with \(TrialAccount.objectPrefix) from the "
                    + "storage by hand")
        }
        if others == 0, let owner = try trial.requireOwner() { try owner.removeEmptyFolder(in: trial.access) }
        return .passed("no objects remain")
    }

    /// The listing shows whether it worked.
    private func delete(_ objectID: String, in provider: any CloudProvider) {
        try? provider.delete(objectID: objectID, in: trial.access)
    }
}
