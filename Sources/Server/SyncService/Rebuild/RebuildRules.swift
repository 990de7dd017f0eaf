import OpenSSLCrypto
import Providers
import Store
import SyncProtocol

// The decisions of a rebuild (docs/adr/0121-a-server-rebuilt-from-manifests.md), without database and storage.

/// The decision about a group, given the best manifest in somebody's folder.
enum RebuildDecision: Equatable {
    /// The group is not here, and is restored.
    case create
    /// The manifest is newer than the group here, which nobody has changed since: the group advances to it.
    case advance
    /// The manifest contains nothing new.
    case known
    /// The manifest is newer, but people have changed the group here since: the operator decides.
    case diverged

    /// - Parameter group: this server's group, which the caller has locked; `nil` if this server has none.
    init(_ manifest: ManifestStand, for group: RebuildGroup?) {
        guard let group else {
            self = .create
            return
        }
        // Its members removed the group here.
        guard !group.isDeleted else {
            self = .known
            return
        }
        let isNewer =
            if let applied = group.applied {
                manifest.isNewer(than: applied)
            } else {
                // The group is from a backup. Manifests that this server has written since are not newer; those that it
                // wrote before the backup have versions that the backup contains.
                group.restoreMark.map { $0 != manifest.restoreMark } ?? false
                    && manifest.masterVersion > group.masterVersion
            }
        guard isNewer else {
            self = .known
            return
        }
        self = group.isUnchangedHere ? .advance : .diverged
    }
}

extension ManifestStand {
    /// Whether this manifest describes a later state of the same group.
    ///
    /// Within one history, the master version decides. A restoration of the server that wrote the manifests lowers
    /// versions and changes the mark; after that, the time decides.
    func isNewer(than other: ManifestStand) -> Bool {
        guard restoreMark == other.restoreMark else {
            return (writtenAt, masterVersion) > (other.writtenAt, other.masterVersion)
        }
        return (masterVersion, writtenAt) > (other.masterVersion, other.writtenAt)
    }

    /// Chooses the best of several manifests of one group, independent of their order; returns `nil` for an empty list.
    ///
    /// After a restoration, this server's own manifests have the group's present mark, and contain nothing that it does
    /// not know.
    /// - Parameter presentMark: the group's mark here, if it is here and no manifest was applied yet.
    static func best(of stands: [ManifestStand], besides presentMark: RestoreMark?) -> ManifestStand? {
        let others = stands.filter { presentMark == nil || $0.restoreMark != presentMark }
        // The latest history, then its highest version.
        guard let latest = others.max(by: { $0.writtenAt < $1.writtenAt }) else { return nil }
        return others.filter { $0.restoreMark == latest.restoreMark }.max { $1.isNewer(than: $0) }
    }
}

/// The result of looking for a file's object in the owner's folder.
enum ObjectVerdict: Equatable {
    /// The object that contains the file's bytes.
    ///
    /// `checkSum` is the whole checksum that clients compare; `nil` if neither the storage nor the manifest contains
    /// it.
    case found(StoredObject, checkSum: CheckSum?)
    /// No object with that name has the size and hash from the manifest.
    case missing

    /// - Parameters:
    ///   - file: the file as listed in the manifest.
    ///   - objects: the objects in the folder that have the file's name, with or without a mark (`ObjectReservation.plainName(of:)`).
    init(_ file: PendingFile, among objects: [StoredObject]) {
        let storage = file.storageType
        // If several objects fit, each attempt selects the same one.
        let fitting = objects.filter { Self.fits($0, file, storage) }.min { $0.objectID < $1.objectID }
        guard let fitting else {
            self = .missing
            return
        }
        let reported =
            storage.traits.reportsCheckSum
            ? fitting.providerHash.flatMap { CheckSum($0)?.canonical(as: storage.checkSumFlavour) } : nil
        self = .found(fitting, checkSum: reported ?? file.wholeCheckSum)
    }

    private static func fits(_ object: StoredObject, _ file: PendingFile, _ storage: CloudStorageType) -> Bool {
        if object.isInBin { return false }
        if let size = file.sizeBytes, size != object.sizeBytes { return false }
        guard let hash = object.providerHash else { return true }
        if storage.traits.reportsCheckSum {
            guard let digest = [UInt8](hexadecimal: hash) else { return false }
            return digest.starts(with: file.checkSumBytes)
        }
        guard let stated = file.storageHash else { return true }
        return hash.lowercased().hasPrefix(stated.lowercased())
    }
}

extension PendingFile {
    /// The checksum, if the manifest contains all of it.
    var wholeCheckSum: CheckSum? {
        CheckSum(digest: checkSumBytes, flavour: storageType.checkSumFlavour)
    }
}
