import OpenSSLCrypto
import SyncModel
import TestSupport

/// Plans the next request: usually a valid one in the current state, sometimes an invalid one.
struct RequestPlanner {
    /// The number of groups to maintain; sign-ups add more.
    static let wantedGroups = 3
    /// The number of live files to maintain in a group.
    static let wantedFiles = 8

    let world: World
    let cast: Cast

    /// The kind of the next request.
    enum Kind {
        case signUp, commit, upload, metadata, deletion, download, downloadMetadata, look, staged, invite, info, redeem
        case createGroup, rename, removeGroup, leave, removeUser, checkCreds, checkPrimaryCreds, registerPush, health
        case discard, batchMember, invitations, revoke, members, permission, removeMember
        case reupload, finishSwitch, switchStatus
    }

    /// Plans a request and its caller.
    func next(_ random: inout SeededGenerator) -> (request: Request, caller: Caller) {
        while true {
            let kind = random.pick(weighted: weights)
            guard let (request, caller) = plan(kind, &random) else { continue }
            var next = world
            // Only a part of the requests that would be rejected is sent.
            if case .refused = next.respond(to: request, from: caller, as: 0), !random.chance(30) { continue }
            return (request, caller)
        }
    }

    private var weights: [(weight: Int, Kind)] {
        // People who are not users soon sign up.
        let missing = cast.people.filter { world.users[$0] == nil }.map(cast.activeAccount)
        let areOwnersMissing = missing.contains(where: \.bringsStorage)
        let areSharersMissing = missing.contains { !$0.bringsStorage }
        return [
            (areOwnersMissing ? 120 : 6, .signUp), (160, .commit), (260, .upload), (80, .metadata), (60, .deletion),
            (130, .download), (50, .downloadMetadata), (40, .look), (30, .staged),
            (areSharersMissing ? 120 : 40, .invite), (20, .info),
            (areSharersMissing ? 200 : 60, .redeem), (liveGroups.count < Self.wantedGroups ? 60 : 3, .createGroup),
            (30, .rename),
            (6, .removeGroup), (12, .leave), (5, .removeUser), (15, .checkCreds),
            (cast.canCheckPrimaryCreds ? 8 : 0, .checkPrimaryCreds), (10, .registerPush), (5, .health),
            (15, .discard), (15, .batchMember), (12, .invitations), (8, .revoke), (12, .members), (20, .permission),
            (5, .removeMember), (awaiting.isEmpty ? 5 : 200, .reupload), (switchers.isEmpty ? 1 : 6, .finishSwitch),
            (switchers.isEmpty ? 2 : 15, .switchStatus),
        ]
    }

    private func plan(_ kind: Kind, _ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        switch kind {
        case .signUp: signUp(&random)
        case .commit: commit(&random)
        case .upload: upload(&random)
        case .metadata: changeMetadata(&random)
        case .deletion: deleteFile(&random)
        case .download: download(&random)
        case .downloadMetadata: downloadMetadata(&random)
        case .look: look(&random)
        case .staged: place(&random, needing: .write).map { (.getUploads(group: $0.group), $0.caller) }
        case .invite: invite(&random)
        case .info: anyInvitation(&random).map { (.getSharingInvitationInfo(code: $0), anybody(&random)) }
        case .redeem: redeem(&random)
        case .createGroup: createGroup(&random)
        case .rename: groupChange(&random, needing: .admin) { .updateSharingGroup($0, name: $1) }
        case .removeGroup: groupChange(&random, needing: .admin) { group, _ in .removeSharingGroup(group) }
        case .leave: groupChange(&random, needing: .read) { group, _ in .removeUserFromSharingGroup(group) }
        case .removeUser: (.removeUser, anybody(&random))
        case .checkCreds: (.checkCreds, anybody(&random))
        case .checkPrimaryCreds: (.checkPrimaryCreds, anybody(&random))
        case .registerPush: (.registerPushNotificationToken(pushToken(&random)), anybody(&random))
        case .health: (.healthCheck, anybody(&random))
        case .discard: discard(&random)
        case .batchMember: repeatBatchMember(&random)
        case .invitations: place(&random, needing: .admin).map { (.getSharingInvitations(group: $0.group), $0.caller) }
        case .revoke: revoke(&random)
        case .members: place(&random, needing: .read).map { (.getSharingGroupMembers(group: $0.group), $0.caller) }
        case .permission: changePermission(&random)
        case .removeMember: removeMember(&random)
        case .reupload: reupload(&random)
        case .finishSwitch: finishSwitch(&random)
        case .switchStatus: (.getAccountSwitchStatus, random.pick(switchers) ?? anybody(&random))
        }
    }

    // MARK: Choosing

    var liveGroups: [String] { world.groups.filter { !$0.value.isDeleted }.keys.sorted() }

    func anybody(_ random: inout SeededGenerator) -> Caller { random.pick(cast.callers) ?? cast.callers[0] }

    /// A current or removed group.
    func anyGroup(_ random: inout SeededGenerator) -> String? {
        random.pick(random.chance(92) ? liveGroups : world.groups.keys.sorted())
    }

    /// A group and a member with the permission; sometimes one without.
    func place(_ random: inout SeededGenerator, needing permission: Permission) -> (group: String, caller: Caller)? {
        guard let group = anyGroup(&random) else { return nil }
        let entitled = cast.callers.filter { caller in
            (world.groups[group]?.members[caller.person]?.permission).map { $0 >= permission } ?? false
        }
        if !random.chance(7), let caller = random.pick(entitled) { return (group, caller) }
        return (group, anybody(&random))
    }

    /// The group at its master version; sometimes at a wrong one.
    func selection(_ group: String, _ random: inout SeededGenerator) -> Request.GroupSelection {
        let version = world.groups[group]?.masterVersion ?? 0
        if random.chance(6) { return Request.GroupSelection(group, at: max(0, version + (random.chance(50) ? 1 : -1))) }
        return Request.GroupSelection(group, at: version)
    }

    /// A file of the group; rarely an unknown one.
    func anyFile(_ group: String, _ random: inout SeededGenerator) -> String {
        let files = world.groups[group]?.files ?? [:]
        let live = files.filter { !$0.value.isDeleted }.keys.sorted()
        if random.chance(85), let file = random.pick(live) { return file }
        if random.chance(60), let file = random.pick(files.keys.sorted()) { return file }
        let elsewhere = world.groups.sorted { $0.key < $1.key }.flatMap { $0.value.files.keys.sorted() }
        if random.chance(50), let file = random.pick(elsewhere) { return file }
        return random.uuid()
    }

    /// A device token for Apple's push service.
    private func pushToken(_ random: inout SeededGenerator) -> String {
        random.bytes(32).map { String($0 | 16, radix: 16) }.joined()
    }

    func text(_ random: inout SeededGenerator) -> String {
        let words = [
            "holiday", "Tom & Jerry", "1+1=2", "100 % sûr", "\"x\\y\"", "日本", "a/b", "zwei\nZeilen", "{}", "🐟",
        ]
        return (0..<Int.random(in: 1...4, using: &random)).compactMap { _ in random.pick(words) }
            .joined(separator: " ")
    }

    // MARK: Contents

    /// New bytes with their checksums; rarely more than a few kilobytes.
    func newContent(_ random: inout SeededGenerator) -> Content {
        let size =
            random.chance(2)
            ? Int.random(in: 1_000_000...2_500_000, using: &random) : Int.random(in: 12...3_000, using: &random)
        // Distinct at the beginning; the rest may repeat.
        var bytes = random.bytes(min(size, 64))
        while bytes.count < size { bytes += bytes.prefix(size - bytes.count) }
        return Content(
            bytes: bytes,
            checkSums: [
                "Google": IncrementalDigest.digest(of: bytes, .md5).hexLowercase,
                "Dropbox": Checksum.dropbox(bytes),
                "Microsoft": IncrementalDigest.digest(of: bytes, .sha1).hexLowercase.uppercased(),
            ])
    }
}
