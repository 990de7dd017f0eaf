internal import Foundation
internal import SyncClient
internal import SyncEngine
internal import SyncProtocol

/// The server of a simulated service, with everything that people, providers and its operator do to it.
struct SimulatedWorld {
    let server: ModelServer
    /// What the test states.
    var storages: [UserID: SimulatedPerson.Storage] = [:] { didSet { update() } }
    var signIns: [UserID: SimulatedPerson.SignIn] = [:]
    var condition = SimulatedService.Condition.open
    var rule: (@Sendable (SimulatedUpload) -> ErrorCode?)? { didSet { update() } }
    /// What the seed adds until everything settles.
    private var chosen = Chosen() { didSet { update() } }
    private var random: SplitMix64
    private let salt: UInt64
    private var backup: [SharingGroupUUID: ModelGroup]?
    private(set) var restorations = 0
    private var closedUntil = 0.0
    private var groupCount = 1

    /// How long a restoration takes, in seconds: longer than a client waits between two requests that rely on the same
    /// index.
    private static let restorationSeconds = 5.0
    /// The admin of each group, who has no phone.
    private static let founder = UserID(0)

    private struct Chosen {
        var storages: [UserID: SimulatedPerson.Storage] = [:]
        var condition: SimulatedService.Condition?
        var refusesFiles = false
        /// The permissions of members before they were demoted.
        var demoted: [SharingGroupUUID: [UserID: Permission]] = [:]
    }

    init(seed: UInt64, group: SharingGroupUUID) {
        server = ModelServer(capabilities: .all)
        server.smallFileLimits = .current
        server.addGroup(group, name: "Simulated", admin: Self.founder)
        salt = seed
        // Independent of the network's events, which are the same with and without refusals.
        random = SplitMix64(seed: seed ^ 0xA11)
    }

    // MARK: People

    /// Adds a user, who is an admin of the first group unless the test has stated a permission.
    mutating func add(_ user: UserID, to group: SharingGroupUUID) {
        guard server.users.insert(user).inserted else { return }
        if server.groups[group]?.members[user] == nil { server.add(user, to: group, .admin) }
    }

    mutating func addGroup(named name: String) -> SharingGroupUUID {
        let digits = String(groupCount)
        groupCount += 1
        guard
            let id = SharingGroupUUID(
                "00000000-0000-4000-A000-" + String(repeating: "0", count: 12 - digits.count) + digits)
        else { preconditionFailure("the text is a UUID") }
        server.addGroup(id, name: name, admin: Self.founder)
        return id
    }

    mutating func setPermissions(_ permissions: [SharingGroupUUID: Permission], of user: UserID) {
        precondition(permissions.keys.allSatisfy { server.groups[$0] != nil }, "there is no such group")
        for (id, group) in server.groups.sorted(by: { $0.key < $1.key }) where group.members[user] != permissions[id] {
            chosen.demoted[id]?[user] = nil
            setPermission(permissions[id], of: user, in: id)
        }
    }

    private func setPermission(_ permission: Permission?, of user: UserID, in id: SharingGroupUUID) {
        guard var group = server.groups[id] else { return }
        switch (group.members[user], permission) {
        case (_, nil):
            server.remove(user, from: &group)
            server.groups[id] = group
        case (nil, let permission?): server.add(user, to: id, permission)
        case (_, let permission?):
            server.groups[id]?.members[user] = permission
            server.raiseMasterVersion(of: id)
        }
    }

    func hasStorage(_ user: UserID) -> Bool {
        if case .hosted = storages[user] { false } else { true }
    }

    /// Applies what the test and the seed state to the server.
    private func update() {
        server.hosts = [:]
        server.room = [:]
        server.revokedUsers = []
        server.unreachableUsers = []
        for (user, storage) in storages.merging(chosen.storages, uniquingKeysWith: { $1 }) {
            switch storage {
            case .available: break
            case .full(let bytes): server.room[user] = bytes
            case .revoked: server.revokedUsers.insert(user)
            case .unreachable: server.unreachableUsers.insert(user)
            case .hosted(let host): server.hosts[user] = UserID(Int64(host))
            }
        }
        let (rule, refusesFiles, salt) = (rule, chosen.refusesFiles, salt)
        server.refusalOfContents = { upload, contents, user in
            if refusesFiles, let code = Self.chance(upload, salt) { return code }
            return rule?(
                SimulatedUpload(
                    userID: user, fileUUID: upload.fileUUID, sharingGroupUUID: upload.sharingGroupUUID,
                    mimeType: upload.mimeType, contents: Data(base64Encoded: contents) ?? Data()))
        }
    }

    /// The code with which one of six versions is refused.
    private static func chance(_ upload: FileUpload, _ salt: UInt64) -> ErrorCode? {
        let mixed = upload.fileUUID.rawValue.utf8.reduce(salt &+ UInt64(upload.fileVersion.rawValue)) {
            $0 &* 31 &+ UInt64($1)
        }
        var random = SplitMix64(seed: mixed)
        return random.once(in: 6) ? random.pick([ErrorCode.cloudRefused, .bodyTooLarge, .unknownMimeType]) : nil
    }

    // MARK: The operator

    mutating func backUp() { backup = server.groups }

    mutating func restore(at time: Double) {
        guard let backup else { preconditionFailure("create a backup first") }
        restorations += 1
        closedUntil = time + Self.restorationSeconds
        server.restore(backup)
    }

    // MARK: Requests

    /// - Parameter restorations: The number of restorations when the request was sent: no request outlives one.
    func perform(
        _ request: ServerRequest, from caller: ModelCaller, contents: String?, sentAfter restorations: Int,
        at time: Double
    ) -> ModelServer.Answer {
        if let failure = failure(of: request, caller.user, restorations, time) {
            return ModelServer.Answer(.failed(failure))
        }
        return server.perform(
            request, from: caller, contents: contents, at: WireDate(secondsSince1970: Int64(time)))
    }

    private func failure(
        of request: ServerRequest, _ user: UserID, _ restorations: Int, _ time: Double
    ) -> RequestFailure? {
        guard restorations == self.restorations, time >= closedUntil else { return .unreachable }
        switch chosen.condition ?? condition {
        case .open: break
        case .readOnly: if !request.onlyReads { return .serverDown(message: nil) }
        case .maintenance(let message, let retryAfter): return .serverDown(message: message, retryAfter: retryAfter)
        case .failing(let code, let retryAfter):
            return code.status == 503
                ? .serverDown(message: nil, retryAfter: retryAfter)
                : .refused(status: code.status, code: code.rawValue, retryAfter: retryAfter)
        }
        switch signIns[user] {
        case .accepted, nil: return nil
        case .rejected: return .signInRequired
        case .switched(let type): return .accountRetired(type)
        case .unknown: return .noUser
        }
    }
}

// Refusals at times that the seed determines.
extension SimulatedWorld {
    private static let kinds: [SimulatedService.Faults] = [
        .demotions, .storages, .refusedFiles, .closures, .restorations,
    ]

    /// Lets something happen, sometimes.
    mutating func happen(_ faults: SimulatedService.Faults, at time: Double) {
        let kinds = Self.kinds.filter(faults.contains)
        guard !kinds.isEmpty, random.once(in: 20), let kind = random.pick(kinds) else { return }
        let people = server.users.sorted()
        switch kind {
        case .demotions:
            guard let user = random.pick(people), let id = random.pick(server.groups.keys.sorted()) else { return }
            if let former = chosen.demoted[id]?.removeValue(forKey: user) {
                setPermission(former, of: user, in: id)
            } else if let permission = server.groups[id]?.members[user], permission != .read {
                chosen.demoted[id, default: [:]][user] = permission
                setPermission(.read, of: user, in: id)
            }
        case .storages:
            guard let user = random.pick(people.filter(hasStorage)) else { return }
            let room = Int64(random.below(64))
            chosen.storages[user] =
                chosen.storages[user] == nil
                ? random.pick([SimulatedPerson.Storage.full(aboveBytes: room), .revoked, .unreachable]) : nil
        case .refusedFiles: chosen.refusesFiles.toggle()
        case .closures:
            chosen.condition =
                chosen.condition == nil
                ? random.pick([SimulatedService.Condition.readOnly, .maintenance(message: "Back soon")]) : nil
        default: if backup == nil || random.once(in: 3) { backUp() } else { restore(at: time) }
        }
    }

    /// Ends everything that the seed has chosen, and a restoration.
    mutating func settle() {
        for (id, members) in chosen.demoted {
            for (user, permission) in members where server.groups[id]?.members[user] == .read {
                setPermission(permission, of: user, in: id)
            }
        }
        chosen = Chosen()
        closedUntil = 0
    }
}

extension ServerRequest {
    /// Whether a server that refuses changes performs the request.
    fileprivate var onlyReads: Bool {
        switch self {
        case .index, .getUploads, .downloadFile, .downloadAppMetaData, .askForServerMove, .askForSmallFiles: true
        default: false
        }
    }
}
