public import Foundation
internal import SyncClient
internal import SyncEngine
public import SyncProtocol

/// A user of a ``SimulatedService``: what other people, and the provider of the user's storage, do to them.
///
/// Each property holds until the test assigns another value. Faults that the seed chooses
/// (``SimulatedService/Faults/refusals``) apply in addition, until ``SimulatedService/settle()``.
public struct SimulatedPerson: Sendable {
    /// A person's storage.
    public enum Storage: Sendable, Hashable {
        /// Stores and returns every file.
        case available
        /// Has no room for files larger than this number of bytes: `storageFull`.
        case full(aboveBytes: Int64)
        /// The person has revoked the server's access: `storageUnauthorized`, and the files are out of reach for
        /// everybody.
        case revoked
        /// The provider does not answer: `storageUnavailable`.
        case unreachable
        /// The person has no storage, and another member hosts their new files; assign it before adding the person's
        /// first phone. Once that member has left a group: `storageOwnerMissing`.
        case hosted(by: Int)
    }

    /// Whether the server accepts a person's credentials.
    public enum SignIn: Sendable, Hashable {
        /// It does.
        case accepted
        /// It no longer does, until the person signs in again: `signInRequired`.
        case rejected
        /// The person has switched to another account on another device: `signedOutRemotely`.
        case switched(to: AccountType)
        /// The person has removed their user: `noUser`.
        case unknown
    }

    /// The user, as in `SyncError.storage`.
    public let userID: UserID
    let scheduler: SimulatedScheduler

    /// The person's permission in each group that they are a member of. Assign a permission to add, promote or demote
    /// them, as an admin does; nil to remove them, with the consequence that their files are deleted for all.
    public var permissions: [SharingGroupUUID: Permission] {
        get {
            let user = userID
            return scheduler.world { world in world.server.groups.compactMapValues { $0.members[user] } }
        }
        nonmutating set {
            let user = userID
            scheduler.world { $0.setPermissions(newValue, of: user) }
        }
    }

    /// The person's storage.
    public var storage: Storage {
        get {
            let user = userID
            return scheduler.world { $0.storages[user] ?? .available }
        }
        nonmutating set {
            let user = userID
            scheduler.world { $0.storages[user] = newValue }
        }
    }

    /// Whether the server accepts the person's credentials, on all their phones.
    public var signIn: SignIn {
        get {
            let user = userID
            return scheduler.world { $0.signIns[user] ?? .accepted }
        }
        nonmutating set {
            let user = userID
            scheduler.world { $0.signIns[user] = newValue }
        }
    }
}

/// Contents that a phone uploads, as the server sees them.
public struct SimulatedUpload: Sendable, Hashable {
    /// The user who uploads them.
    public let userID: UserID
    /// The file.
    public let fileUUID: FileUUID
    /// The file's group.
    public let sharingGroupUUID: SharingGroupUUID
    /// The type of the contents.
    public let mimeType: MIMEType
    /// The contents.
    public let contents: Data
}

// Situations in which the server refuses requests, in addition to those of its people.
extension SimulatedService {
    /// Whether the server works.
    public enum Condition: Sendable, Hashable {
        /// It does.
        case open
        /// It answers requests for lists and files, and refuses changes: `serverDown`.
        case readOnly
        /// It refuses everything: `serverDown`, with the operator's words.
        case maintenance(message: String?, retryAfter: Duration? = nil)
        /// It answers every request with an error, such as `.tooManyRequests` or `.internal`: `requestRefused`.
        case failing(ErrorCode, retryAfter: Duration? = nil)
    }

    /// A person, with or without a phone.
    /// - Parameter user: The number of ``addPhone(user:launch:)``.
    public func person(_ user: Int) -> SimulatedPerson {
        SimulatedPerson(userID: UserID(Int64(user)), scheduler: scheduler)
    }

    /// Creates a sharing group without any of the people: assign ``SimulatedPerson/permissions``.
    public func addGroup(named name: String) -> SharingGroupUUID {
        scheduler.world { $0.addGroup(named: name) }
    }

    /// Whether the server works.
    public var condition: Condition {
        get { scheduler.world { $0.condition } }
        set { scheduler.world { $0.condition = newValue } }
    }

    /// Refuses contents: with `.cloudRefused` for malware, `.bodyTooLarge`, `.unknownMimeType`, `.quotaStagedChanges`
    /// and so on. The class of the code determines what the library does.
    /// - Parameter rule: The code for an upload; nil accepts it. Replaces the previous rule.
    public func refuseUploads(_ rule: @escaping @Sendable (SimulatedUpload) -> ErrorCode?) {
        scheduler.world { $0.rule = rule }
    }

    /// Files whose owners have removed the bytes from their storage: out of reach, and `fileIsGone`.
    public var missingFiles: Set<FileUUID> {
        get { scheduler.world { $0.server.missingFiles } }
        set { scheduler.world { $0.server.missingFiles = newValue } }
    }

    /// Creates a backup of all groups, which replaces the previous one.
    public func backUp() {
        scheduler.world { $0.backUp() }
    }

    /// Restores the groups of the last backup, as an operator does after a loss: phones know more than the server.
    /// Requests in progress fail, and the server is closed for some seconds.
    public func restore() {
        scheduler.restore()
    }

    /// Rules of the library that are broken after ``settle()``; each sentence begins with the seed. Empty if all phones
    /// know exactly the server's files in the groups of their users, apart from files with unsent changes, and no
    /// change is unsent for a reason that has passed.
    public func violations() -> [String] {
        let world = scheduler.world { world in
            world.server.groups.mapValues { group in
                (members: Set(group.members.keys), files: Set(group.files.filter { !$0.value.isDeleted }.keys))
            }
        }
        return allPhones.flatMap { phone -> [String] in
            guard let client = phone.client else { return ["it is not running"].map { phone.sentence($0, seed) } }
            let pending = client.pendingReport()
            let unsent = Set(pending.changes.compactMap(\.fileUUID))
            var found = client.trackingReport.violations
            for change in pending.changes where change.isClosed && !change.isBlocked {
                found.append("a change is unsent although nothing prevents it: \(change)")
            }
            for (id, group) in world where group.members.contains(phone.user) {
                let known = Set(client.files(inSharingGroup: id).map(\.fileUUID))
                for file in group.files.subtracting(known).subtracting(unsent).sorted() {
                    found.append("it does not know \(file)")
                }
                for file in known.subtracting(group.files).subtracting(unsent).sorted() {
                    found.append("it shows \(file), which the server does not have")
                }
            }
            return found.map { phone.sentence($0, seed) }
        }
    }
}

extension AnySimulatedPhone {
    fileprivate func sentence(_ text: String, _ seed: UInt64) -> String { "seed \(seed), phone \(index + 1): \(text)" }
}
