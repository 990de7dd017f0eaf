import Foundation
import Gzip
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import TestSupport
import Testing

@testable import SyncService

/// The decisions of a rebuild, without database and storage.
@Suite("The rules of a rebuild")
struct RebuildRulesTests {
    private static let (first, second) = (RestoreMark("first")!, RestoreMark("second")!)

    private func stand(_ version: Int64, _ mark: RestoreMark? = nil, at seconds: Int64 = 0) -> ManifestStand {
        ManifestStand(
            restoreMark: mark, masterVersion: MasterVersion(version),
            writtenAt: WireDate(secondsSince1970: noon.secondsSince1970 + seconds))
    }

    private func group(
        _ version: Int64, mark: RestoreMark? = Self.first, applied: ManifestStand? = nil, isChanged: Bool = false,
        isDeleted: Bool = false
    ) -> RebuildGroup {
        RebuildGroup(
            groupID: SharingGroupID(1), masterVersion: MasterVersion(version), restoreMark: mark,
            isDeleted: isDeleted, state: .restoring, applied: applied, isUnchangedHere: !isChanged)
    }

    // MARK: Manifests

    @Test("Within one history the master version decides, even if the clock went back")
    func sameHistory() {
        #expect(stand(8, at: 0).isNewer(than: stand(7, at: 100)))
        #expect(stand(8, at: 1).isNewer(than: stand(8, at: 0)))
        #expect(!stand(8).isNewer(than: stand(8)))
        #expect(!stand(7, at: 100).isNewer(than: stand(8, at: 0)))
    }

    @Test("After a restoration of the lost server, the later manifest is newer, although its version is lower")
    func differentHistories() {
        let (before, after) = (stand(60, at: 0), stand(45, Self.second, at: 100))
        #expect(after.isNewer(than: before))
        #expect(!before.isNewer(than: after))
    }

    @Test("The best manifest does not depend on the order in which they are found")
    func best() {
        let stands = [
            stand(60, at: 0), stand(45, Self.second, at: 100), stand(47, Self.second, at: 90), stand(61, at: 1),
        ]
        for rotation in stands.indices {
            let turned = Array(stands[rotation...] + stands[..<rotation])
            #expect(ManifestStand.best(of: turned, besides: nil) == stand(47, Self.second, at: 90))
            #expect(ManifestStand.best(of: turned.reversed(), besides: nil) == stand(47, Self.second, at: 90))
        }
        // Manifests that this server has written since its own restoration contain nothing that it does not know.
        #expect(ManifestStand.best(of: stands, besides: Self.second) == stand(61, at: 1))
        #expect(ManifestStand.best(of: [stand(45, Self.second)], besides: Self.second) == nil)
        #expect(ManifestStand.best(of: [], besides: nil) == nil)
        // Without a mark here, manifests without a mark count.
        #expect(ManifestStand.best(of: [stand(3)], besides: nil) == stand(3))
    }

    // MARK: Groups

    @Test("An unknown group is restored; a removed one is not")
    func unknown() {
        #expect(RebuildDecision(stand(7), for: nil) == .create)
        #expect(RebuildDecision(stand(70), for: group(7, isDeleted: true)) == .known)
    }

    @Test("A restored group advances to a newer manifest, and ignores an older or equal one")
    func applied() {
        let known = group(50, applied: stand(50))
        #expect(RebuildDecision(stand(52), for: known) == .advance)
        #expect(RebuildDecision(stand(50), for: known) == .known)
        #expect(RebuildDecision(stand(49), for: known) == .known)
    }

    @Test("After a change here, the operator decides about a newer manifest; an older one is ignored")
    func diverged() {
        let changed = group(51, applied: stand(50), isChanged: true)
        #expect(RebuildDecision(stand(52), for: changed) == .diverged)
        #expect(RebuildDecision(stand(50), for: changed) == .known)
    }

    @Test("A group from a backup advances only to manifests from the lost period")
    func backup() {
        let restored = group(40)
        #expect(RebuildDecision(stand(50), for: restored) == .advance)
        #expect(RebuildDecision(stand(40), for: restored) == .known)
        // Written by this server since the restoration.
        #expect(RebuildDecision(stand(41, Self.first), for: restored) == .known)
        #expect(RebuildDecision(stand(50), for: group(40, isChanged: true)) == .diverged)
        // A group without a mark was created here.
        #expect(RebuildDecision(stand(50), for: group(40, mark: nil)) == .known)
    }

    // MARK: Objects

    private static let bytes = someBytes(7)
    private static let digest = [UInt8](hexadecimal: md5(bytes))!

    private func pending(
        _ storage: CloudStorageType = .google, size: Int64? = 7, checkSum: [UInt8] = Array(digest.prefix(8)),
        hash: String? = nil
    ) -> PendingFile {
        PendingFile(
            groupID: SharingGroupID(1), groupUUID: SharingGroupUUID("g")!, fileUUID: someFile(),
            fileVersion: FileVersion(0), storageType: storage, objectName: "name", sizeBytes: size,
            checkSumBytes: checkSum, storageHash: hash, isSigned: true)
    }

    private func object(
        _ id: String = "1", size: Int64 = 7, hash: String? = md5(bytes), isInBin: Bool = false
    ) -> StoredObject {
        StoredObject(
            objectID: id, name: "name", sizeBytes: size, providerHash: hash, revision: nil, isInBin: isInBin)
    }

    @Test("An object with the manifest's size and checksum prefix is the file's, and provides the whole checksum")
    func found() {
        let file = pending()
        #expect(ObjectVerdict(file, among: [object()]) == .found(object(), checkSum: CheckSum(md5(Self.bytes))))
        // The order of the objects does not matter.
        let two = [object("2"), object("1")]
        #expect(ObjectVerdict(file, among: two) == .found(object("1"), checkSum: CheckSum(md5(Self.bytes))))
    }

    @Test("An object with another size or hash, or in the bin, is not the file's")
    func missing() {
        let file = pending()
        #expect(ObjectVerdict(file, among: []) == .missing)
        #expect(ObjectVerdict(file, among: [object(size: 8)]) == .missing)
        #expect(ObjectVerdict(file, among: [object(hash: md5(someBytes(8)))]) == .missing)
        #expect(ObjectVerdict(file, among: [object(isInBin: true)]) == .missing)
        #expect(ObjectVerdict(file, among: [object(size: 8), object("2")]) != .missing)
    }

    @Test("If the storage reports no hash, the size and the manifest's checksum count")
    func withoutHash() {
        let file = pending(.webDAV, checkSum: Self.digest)
        #expect(
            ObjectVerdict(file, among: [object(hash: nil)])
                == .found(object(hash: nil), checkSum: CheckSum(md5(Self.bytes))))
        // The complete checksum is unknown.
        let short = pending(.webDAV)
        #expect(ObjectVerdict(short, among: [object(hash: nil)]) == .found(object(hash: nil), checkSum: nil))
    }

    @Test("Only the beginning of a storage's own hash is compared; the checksum is the manifest's")
    func ownHash() {
        let sum = [UInt8](0..<20)
        let file = pending(.microsoft, checkSum: sum, hash: "quickXorHas")
        let present = object(hash: "quickXorHash=")
        let expected = CheckSum(digest: sum, flavour: .sha1)
        #expect(ObjectVerdict(file, among: [present]) == .found(present, checkSum: expected))
        #expect(ObjectVerdict(file, among: [object(hash: "other")]) == .missing)
    }

    @Test(
        "Only the mark of a spare name is removed from names",
        arguments: [
            ("a.b.0~01234567.jpg", "a.b.0.jpg"), ("a.b.0.jpg", "a.b.0.jpg"), ("a~b.jpg", "a~b.jpg"),
            ("a~0123456.jpg", "a~0123456.jpg"), ("a~01234567", "a~01234567"),
        ])
    func plainNames(name: String, plain: String) { #expect(ObjectReservation.plainName(of: name) == plain) }

    // MARK: Forgeries

    private func manifest(
        version: Int64 = 1, name: String? = nil, salt: [UInt8] = [1], members: [Int64] = [1], signedBy key: Ed25519Key
    ) throws -> [UInt8] {
        var writer = ManifestWriter(
            ManifestHeader(
                groupUUID: SharingGroupUUID("11111111-2222-3333-4444-555555555555")!, groupName: name, createdAt: noon,
                masterVersion: MasterVersion(version), restoreMark: nil, restoredMasterVersion: nil, writtenAt: noon,
                serverURL: nil, ownerID: UserID(1), salt: salt, publicKey: key.publicKey))
        for number in members {
            writer.add(
                ManifestMember(
                    userID: UserID(number), identity: ManifestIdentity.hash(.google, "alice", salt: salt), account: nil,
                    name: "alice", permission: .admin, isOwning: true, owningUserID: nil, joinedAt: noon))
        }
        writer.endFiles()
        let digest = IncrementalDigest.digest(of: writer.output, .sha256)
        writer.finish(signature: try key.signature(over: GroupManifest.signedMessage(sha256: digest)))
        var stream = GzipStream()
        stream.append(writer.output.span)
        stream.finish()
        return stream.output
    }

    @Test("A signature counts only if the key is known, regardless of the key in the manifest")
    func signatures() throws {
        let (known, other) = (
            try Ed25519Key(seed: [UInt8](repeating: 1, count: 32)),
            try Ed25519Key(seed: [UInt8](repeating: 2, count: 32))
        )
        let signed = try ReadManifest(try manifest(signedBy: known), keys: [other.publicKey, known.publicKey])
        #expect(signed.isSigned && signed.members.count == 1)
        let forged = try ReadManifest(try manifest(signedBy: other), keys: [known.publicKey])
        #expect(!forged.isSigned)
        // A claim is identified by its text, not by its signature.
        #expect(forged.digest.count == 32 && forged.digest != signed.digest)
        #expect(!(try ReadManifest(try manifest(signedBy: known), keys: [])).isSigned)
    }

    @Test("A manifest with values that the database cannot store or increase is rejected")
    func implausible() throws {
        let key = try Ed25519Key(seed: [UInt8](repeating: 1, count: 32))
        let forgeries = [
            try manifest(version: .max, signedBy: key), try manifest(version: -1, signedBy: key),
            try manifest(name: String(repeating: "n", count: 256), signedBy: key),
            try manifest(salt: [], signedBy: key), try manifest(members: [1, 1], signedBy: key),
            try manifest(members: [0], signedBy: key),
        ]
        for forgery in forgeries {
            #expect(throws: ManifestError.notAManifest) { try ReadManifest(forgery, keys: [key.publicKey]) }
        }
    }

    // MARK: Histories

    /// A file as listed in a manifest, or by the rebuilt server.
    private struct State: Equatable {
        var version: Int
        var isDeleted: Bool
    }

    /// The contents of one manifest, or of the rebuilt group.
    private struct Snapshot: Equatable {
        var stand: ManifestStand
        var files: [Int: State] = [:]
        var permissions: [Int: Int] = [:]
    }

    @Test("In any order of return, the group ends in the state of the newest manifest")
    func histories() { for seed in (0 as UInt64)..<1_000 { history(seed) } }

    private func history(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        var now = Snapshot(stand: stand(0), permissions: [0: 2])
        var lost: [RestoreMark] = []
        var manifests: [Snapshot] = []
        var seconds: Int64 = 0
        for _ in 0..<Int.random(in: 1...40, using: &random) {
            seconds += Int64.random(in: 0...90, using: &random)
            now.stand.writtenAt = WireDate(secondsSince1970: noon.secondsSince1970 + seconds)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let file = Int.random(in: 0..<6, using: &random)
                let known = now.files[file]
                let deletes = known.map { !$0.isDeleted && Bool.random(using: &random) } ?? false
                now.files[file] = State(version: (known?.version ?? -1) + (deletes ? 0 : 1), isDeleted: deletes)
                now.stand.masterVersion = now.stand.masterVersion.next
            case 5..<7:
                let member = Int.random(in: 1..<4, using: &random)
                now.permissions[member] = now.permissions[member] == nil ? Int.random(in: 0...2, using: &random) : nil
                now.stand.masterVersion = now.stand.masterVersion.next
            case 7 where manifests.count > 1 && lost.count < 2:
                // The lost server was itself restored to an earlier state.
                seconds += 1
                let backup = manifests.randomElement(using: &random)!
                let mark = RestoreMark("restoration \(lost.count)")!
                lost.append(mark)
                now.files = backup.files
                now.permissions = backup.permissions
                now.stand = stand(backup.stand.masterVersion.rawValue, mark, at: seconds)
            default: manifests.append(now)
            }
            // One manifest for each state.
            manifests = manifests.reduce(into: []) { kept, next in
                if kept.last?.stand.masterVersion != next.stand.masterVersion
                    || kept.last?.stand.restoreMark != next.stand.restoreMark
                {
                    kept.append(next)
                }
            }
        }
        guard !manifests.isEmpty else { return }
        let deleted = Set(manifests.last!.files.filter(\.value.isDeleted).keys)

        // Each owner's folder contains the two newest manifests of some point in time. Owners return in any order, some
        // of them repeatedly.
        var folders = (0..<4).map { _ in
            let end = Int.random(in: 1...manifests.count, using: &random)
            return Array(manifests[..<end].suffix(2))
        }
        folders.append(Array(manifests.suffix(2)))
        folders += folders.filter { _ in Bool.random(using: &random) }
        folders.shuffle(using: &random)
        var here: (group: RebuildGroup, contents: Snapshot)?
        for folder in folders {
            guard let best = ManifestStand.best(of: folder.map(\.stand), besides: nil),
                let manifest = folder.first(where: { $0.stand == best })
            else { continue }
            switch RebuildDecision(best, for: here?.group) {
            case .create, .advance:
                here = (group(best.masterVersion.rawValue, applied: best), manifest)
            case .known: break
            case .diverged: Issue.record("nobody has changed the group here")
            }
        }
        #expect(here?.contents == manifests.last, "seed \(seed)")
        #expect(here.map { Set($0.contents.files.filter(\.value.isDeleted).keys) } == deleted)
        #expect(RebuildDecision(manifests.last!.stand, for: here?.group) == .known)
    }
}

/// SplitMix64, so that a seed determines a history.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
