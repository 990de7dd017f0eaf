import Gzip
import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import Vault

/// Restores the groups whose manifests are in an owner's folder (docs/adr/0121-a-server-rebuilt-from-manifests.md).
///
/// Reads the folder without a transaction, and applies each manifest, and each batch of objects, in its own
/// transaction. Each step may be repeated after an interruption at any point: the rows show which steps are complete.
struct RebuildWork: Sendable {
    /// The number of manifests read of one group: the current one, its predecessor, and one left over from a
    /// restoration.
    private static let manifestsRead = 3
    /// The number of files compared with the folder in one transaction.
    private static let batch = 200
    /// The time limit for the list of a folder.
    private static let listingTime: Duration = .seconds(1_800)
    /// The time limit for one manifest.
    private static let readingTime: Duration = .seconds(300)

    let store: MetadataStore
    let vault: CredentialVault
    let now: @Sendable () -> WireDate

    /// The work has to stop, because another process does it, or because it now belongs to another number.
    private struct Stopped: Error {}

    /// - Parameter goesOn: called often; if it returns `false`, another process does the work.
    /// - Throws: `CloudStorageError`, `StoreError`, `CryptoError`.
    func read(_ owner: OwningUser, in storage: UserStorage, _ logger: Logger, while goesOn: () -> Bool) throws {
        guard let mode = try store.withSession({ try $0.rebuildMode() }),
            let user = try store.withSession({ try $0.user(owner.userID) })
        else { return }
        let visit = Visit(owner: owner, user: user, mode: mode, storage: storage, logger: logger)
        do {
            try read(visit, while: goesOn)
        } catch is Stopped {
            return
        }
    }

    /// The owner whose folder is read, and the access to it.
    private struct Visit {
        let owner: OwningUser
        let user: UserRecord
        let mode: RebuildMode
        let storage: UserStorage
        let logger: Logger
    }

    private func read(_ visit: Visit, while goesOn: () -> Bool) throws {
        func step() throws { if !goesOn() { throw Stopped() } }
        let folder = try list(visit, while: goesOn)
        try step()
        let (keys, trusted) = try store.withSession { session in
            (try session.manifestKeys().map(\.key), try session.trustedClaims(of: visit.owner.userID))
        }
        /// The objects listed in the owner's own manifests.
        var stated: Set<StatedObject> = []
        for (groupUUID, names) in folder.manifests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            var read: [ReadManifest] = []
            for name in names.sorted(by: { $0.name.sequence > $1.name.sequence }).prefix(Self.manifestsRead) {
                try step()
                guard let manifest = try self.read(name, of: groupUUID, in: visit, keys) else { continue }
                if manifest.isSigned || trusted.contains(manifest.digest) {
                    if manifest.names(visit.user) { read.append(manifest) }
                } else {
                    let claim = manifest.claim(of: visit.owner.userID)
                    try store.transaction { try $0.note(claim, at: now()) }
                }
            }
            if let first = read.first { try recognise(visit, by: first) }
            for manifest in read {
                stated.formUnion(
                    manifest.files.lazy.filter { $0.state == .stored }.map {
                        StatedObject(groupUUID: groupUUID, name: $0.cloudName)
                    })
            }
            try step()
            try apply(read, of: groupUUID, visit, names)
        }
        try takePlaces(visit)
        try attach(folder, stated, visit, while: goesOn)
        try end(visit)
    }

    /// Turns a provisional user into the person named in a manifest, under their former number if the signature is
    /// known.
    private func recognise(_ visit: Visit, by manifest: ReadManifest) throws {
        let provisional = visit.owner.userID
        let isUsable = manifest.isSigned && manifest.header.ownerID < visit.mode.firstNewUser
        try recognise(visit, as: isUsable ? [manifest.header.ownerID, provisional] : [provisional])
    }

    /// Gives a provisional user the first of these numbers that nobody else has. If the number changes, the work is
    /// passed on to it.
    private func recognise(_ visit: Visit, as numbers: [UserID]) throws {
        let provisional = visit.owner.userID
        for number in numbers {
            let isRecognised = try store.transaction { session in
                try session.recognise(provisional: provisional, as: number) { sealed in
                    let place = CredentialSealer.Place.user(provisional)
                    guard let credentials = try vault.open(sealed.record, from: place, visit.logger) else { return nil }
                    return try vault.sealed(credentials, ofNextAccountOf: number)
                }
            }
            guard isRecognised else { continue }
            visit.logger.notice("Owner recognised", metadata: .keyed([.userID: "\(number)"]))
            if number != provisional { throw Stopped() }
            return
        }
    }

    // MARK: The folder

    private struct NamedObject {
        let name: ManifestName
        let object: StoredObject
    }

    private struct StatedObject: Hashable {
        let groupUUID: SharingGroupUUID
        let name: String
    }

    private struct Folder {
        var manifests: [SharingGroupUUID: [NamedObject]] = [:]
        /// Keyed by the names without marks.
        var objects: [String: [StoredObject]] = [:]
    }

    private func list(_ visit: Visit, while goesOn: () -> Bool) throws -> Folder {
        var folder = Folder()
        var isStopped = false
        var access = visit.storage.access
        access.deadline = .after(Self.listingTime)
        try visit.storage.provider.list(in: access) { page in
            if !goesOn() { isStopped = true }
            for object in page {
                let plain = ObjectReservation.plainName(of: object.name)
                if let name = ManifestName(plain) {
                    folder.manifests[name.groupUUID, default: []].append(NamedObject(name: name, object: object))
                } else {
                    folder.objects[plain, default: []].append(object)
                }
            }
        }
        if isStopped { throw Stopped() }
        return folder
    }

    /// Downloads and verifies a manifest; `nil` if the object is not a manifest, or is damaged.
    private func read(
        _ found: NamedObject, of groupUUID: SharingGroupUUID, in visit: Visit, _ keys: [[UInt8]]
    ) throws -> ReadManifest? {
        do {
            guard found.object.sizeBytes <= Int64(GroupManifest.maximumBytes) else { throw ManifestError.notAManifest }
            var bytes: [UInt8] = []
            var access = visit.storage.access
            access.deadline = .after(Self.readingTime)
            do throws(CloudStorageError) {
                try visit.storage.provider.download(
                    objectID: found.object.objectID, from: access,
                    receive: { piece in
                        bytes.append(copying: piece)
                        return bytes.count <= GroupManifest.maximumBytes
                    })
            } catch .notFound {
                return nil
            } catch .downloadCancelled {
                throw ManifestError.notAManifest
            }
            let manifest = try ReadManifest(bytes, keys: keys)
            guard manifest.header.groupUUID == groupUUID else { throw ManifestError.notAManifest }
            return manifest
        } catch let error as ManifestError {
            visit.logger.warning("Manifest not usable", metadata: .keyed([.reason: "\(error)"]))
        } catch let error as GzipError {
            visit.logger.warning("Manifest not usable", metadata: .keyed([.reason: "\(error)"]))
        }
        return nil
    }

    // MARK: Groups

    /// Restores or updates a group from the best of an owner's trusted manifests.
    private func apply(
        _ manifests: [ReadManifest], of groupUUID: SharingGroupUUID, _ visit: Visit, _ names: [NamedObject]
    ) throws {
        guard !manifests.isEmpty else { return }
        let mark = try RandomBytes.uuidText()
        guard let mark = RestoreMark(mark) else { return }
        let outcome = try store.transaction { session -> RebuildDecision in
            let present = try session.rebuildGroup(groupUUID)
            // The operator may have ended the rebuild in the meantime, which opens all groups.
            guard try session.rebuildMode()?.isOn == true else { return .known }
            let ownMark = present.flatMap { $0.applied == nil ? $0.restoreMark : nil }
            guard let best = ManifestStand.best(of: manifests.map(\.stand), besides: ownMark),
                let manifest = manifests.first(where: { $0.stand == best })
            else { return .known }
            let decision = RebuildDecision(best, for: present)
            var groupID = present?.groupID
            switch decision {
            case .create, .advance:
                let restored = try put(back: manifest, over: present?.groupID, mark, visit, &session)
                groupID = restored
                // The operator's decision not to wait remains in force.
                if present?.state == .finished {
                    _ = try session.open(restored, as: .finished, from: [.restoring], at: now())
                }
            case .diverged:
                if let groupID { try session.noteDivergence(of: groupID, at: now()) }
            case .known: break
            }
            // If the group was created again here, the old manifests may still be needed.
            if let groupID, present == nil || present?.state != nil || decision == .advance,
                present?.isDeleted != true
            {
                try adopt(names, manifests, as: groupID, visit, &session)
            }
            // Without the old key, only an owner's own manifests reveal the owner's groups.
            if let groupID, case .listed(let groups) = manifests.first?.reader?.otherGroups {
                try session.noteAwaitedIfUnknown(groups, by: visit.user.userID, statedBy: groupID)
            }
            return decision
        }
        visit.logger.notice(
            "Manifest of a group read", metadata: .keyed([.sharingGroup: "\(groupUUID)", .reason: "\(outcome)"]))
    }

    private func put(
        back manifest: ReadManifest, over present: SharingGroupID?, _ mark: RestoreMark, _ visit: Visit,
        _ session: inout StoreSession
    ) throws -> SharingGroupID {
        let header = manifest.header
        let groupID = try session.put(
            back: RebuiltGroup(
                groupUUID: header.groupUUID, name: header.groupName, createdAt: header.createdAt ?? header.writtenAt,
                stand: manifest.stand, salt: header.salt, isSigned: manifest.isSigned),
            over: present, mark: mark, at: now())
        var storage: [UserID: CloudStorageType] = [:]
        for file in manifest.files where file.state != .deleted {
            storage[file.owner.userID] = file.owner.storageType
        }
        let newcomers = try session.newcomers(since: visit.mode)
        let users = try session.put(
            back: manifest.members, storage: storage, in: groupID,
            otherGroups: { manifest.otherGroups(of: $0, vault) }, newcomers: newcomers,
            identity: { ManifestIdentity.hash($0.accountType, $0.providerUserID, salt: header.salt) },
            random: { try RandomBytes.uuidText() }, at: now())
        for file in manifest.files {
            let owner = users[file.owner.userID] ?? file.owner.userID
            try session.put(back: file, of: owner, in: groupID, as: header.masterVersion)
        }
        _ = try session.withholdContentsOfOtherGroups(from: groupID)
        // The folders of owners who returned earlier are read again, for the objects of this state.
        for (former, type) in storage {
            guard let userID = users[former], userID != visit.owner.userID, try session.hasComeBack(userID) else {
                continue
            }
            try session.scheduleManifestReading(OwningUser(userID: userID, storageType: type), at: now())
        }
        return groupID
    }

    /// Records the manifests in the folder, so that later manifests replace them.
    private func adopt(
        _ names: [NamedObject], _ manifests: [ReadManifest], as groupID: SharingGroupID, _ visit: Visit,
        _ session: inout StoreSession
    ) throws {
        let newest = names.sorted { $0.name.sequence > $1.name.sequence }
        guard let current = newest.first, let manifest = manifests.first else { return }
        try session.adopt(
            ManifestRecord(
                groupID: groupID, owner: visit.owner, masterVersion: manifest.header.masterVersion,
                sequence: current.name.sequence, objectID: current.object.objectID,
                previousObjectID: newest.dropFirst().first?.object.objectID, sizeBytes: current.object.sizeBytes,
                writtenAt: manifest.header.writtenAt))
    }

    // MARK: Objects

    /// Looks in the folder for the objects of all pending files of the owner.
    private func attach(
        _ folder: Folder, _ stated: Set<StatedObject>, _ visit: Visit, while goesOn: () -> Bool
    ) throws {
        var last: PendingFile?
        while true {
            guard goesOn() else { throw Stopped() }
            let files = try store.withSession { session in
                try session.pendingFiles(of: visit.owner, after: last, limit: Self.batch)
            }
            guard let end = files.last else { return }
            for (groupID, files) in Dictionary(grouping: files, by: \.groupID) {
                try store.transaction { session in
                    do { _ = try session.lockMasterVersionExclusive(of: groupID) } catch StoreError.notFound { return }
                    for file in files { try settle(file, folder, stated, visit, &session) }
                }
            }
            last = end
        }
    }

    private func settle(
        _ file: PendingFile, _ folder: Folder, _ stated: Set<StatedObject>, _ visit: Visit,
        _ session: inout StoreSession
    ) throws {
        // A manifest without a known signature in somebody else's folder must not affect this owner's objects.
        let isStated =
            file.isSigned || stated.contains(StatedObject(groupUUID: file.groupUUID, name: file.objectName))
        let candidates = isStated ? folder.objects[ObjectReservation.plainName(of: file.objectName)] ?? [] : []
        if case .found(let object, let checkSum) = ObjectVerdict(file, among: candidates) {
            let hash = file.storageType.traits.reportsCheckSum ? nil : object.providerHash
            let found = FoundObject(
                objectID: object.objectID, sizeBytes: object.sizeBytes, checkSum: checkSum, providerHash: hash,
                revision: object.adoptedRevision)
            if try session.attach(found, to: file, of: visit.owner) { return }
        }
        try session.awaitContent(of: file, checkSum: file.wholeCheckSum)
    }

    // MARK: The end

    /// Gives the owner their places in groups that were restored from others' folders.
    private func takePlaces(_ visit: Visit) throws {
        let user = visit.user
        let places = try store.withSession { session in
            try session.placesOfAbsentMembers(user.accountType, user.providerUserID)
        }
        guard let first = places.first else { return }
        if try store.withSession({ try $0.rebuildVisit(of: user.userID)?.isProvisional }) == true {
            let isUsable = first.isSigned && first.formerUserID < visit.mode.firstNewUser
            try recognise(visit, as: isUsable ? [first.formerUserID, user.userID] : [user.userID])
        }
        for place in places { _ = try store.transaction { try $0.seat(user, as: place) } }
    }

    /// Ends the visit, and opens the groups that are complete.
    private func end(_ visit: Visit) throws {
        let user = visit.user
        try store.transaction { try $0.endRebuildVisit(of: user.userID, at: now()) }
        for groupID in try store.withSession({ try $0.restoringGroups(ofOwner: user.userID) }) {
            try store.transaction { session in
                do { _ = try session.lockMasterVersionExclusive(of: groupID) } catch StoreError.notFound { return }
                try session.completeIfAllHaveCome(groupID, at: now())
            }
        }
    }
}
