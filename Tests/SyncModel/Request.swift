/// Metadata of a file.
package struct Metadata: Hashable, Sendable {
    package var version: Int
    package var contents: String

    /// Creates metadata from a version and contents.
    package init(_ version: Int, _ contents: String) {
        self.version = version
        self.contents = contents
    }
}

/// A client's request, named as in docs/protocol.md §8.
package enum Request: Hashable, Sendable {
    case healthCheck
    case checkPrimaryCreds
    case checkCreds
    case addUser(group: String, name: String?, folder: String?)
    case removeUser
    case index(group: String?, since: Int? = nil)
    case uploadFile(Upload)
    case uploadAppMetaData(FileSelection, Metadata, batch: Batch? = nil)
    case uploadDeletion(FileSelection, version: Int, batch: Batch? = nil)
    case discardUploads(group: String, files: [String]?, batch: String?)
    case getUploads(group: String)
    case doneUploads(GroupSelection, newName: String?, message: String?, commitID: String? = nil)
    case downloadFile(FileSelection, version: Int, metadataVersion: Int?)
    case downloadAppMetaData(FileSelection, metadataVersion: Int)
    case createSharingInvitation(group: String, Permission, allowsSocial: Bool, acceptors: Int)
    case getSharingInvitationInfo(code: String)
    case redeemSharingInvitation(code: String, folder: String?)
    case createSharingGroup(group: String, name: String?)
    case updateSharingGroup(GroupSelection, name: String)
    case removeSharingGroup(GroupSelection)
    case removeUserFromSharingGroup(GroupSelection)
    case registerPushNotificationToken(String)
    case getSharingInvitations(group: String)
    case revokeSharingInvitation(group: String, code: String)
    case getSharingGroupMembers(group: String)
    case updateSharingGroupMember(GroupSelection, user: Int, Permission)
    case removeSharingGroupMember(GroupSelection, user: Int)
    /// The confirmation of a switch that was begun.
    case confirmAccountSwitch(AccountSwitchConfirmation)
    case reuploadFile(Reupload)
    case finishAccountSwitch(id: String, MissingFiles)
    case getAccountSwitchStatus

    /// A group, with the master version known to the client.
    package struct GroupSelection: Hashable, Sendable {
        package var group: String
        package var masterVersion: Int

        /// Selects a group at a version.
        package init(_ group: String, at masterVersion: Int) {
            self.group = group
            self.masterVersion = masterVersion
        }
    }

    /// A set of changes that is committed when all of them have arrived.
    package struct Batch: Hashable, Sendable {
        package let uuid: String
        package let count: Int

        /// Creates a batch of `count` files.
        package init(_ uuid: String, of count: Int) {
            self.uuid = uuid
            self.count = count
        }
    }

    /// The parameters and sender of ConfirmAccountSwitch.
    package struct AccountSwitchConfirmation: Hashable, Sendable {
        package let id: String
        package let epoch: Int
        /// The new account.
        package let account: Account
        /// Whether the server is to move the files; if so, the person has files, and all of them have their bytes.
        package let movesContents: Bool

        /// Creates the confirmation of a switch that was begun.
        package init(_ id: String, at epoch: Int, to account: Account, movesContents: Bool) {
            self.id = id
            self.epoch = epoch
            self.account = account
            self.movesContents = movesContents
        }
    }

    /// The treatment of files that were not uploaded again.
    package enum MissingFiles: String, Sendable, CaseIterable {
        case keepGone
        case markDeleted
    }

    /// The parameters of ReuploadFile.
    package struct Reupload: Hashable, Sendable {
        package var file: String
        package let group: String
        package var version: Int
        package var mimeType: String
        package var content: Content
        package var checkSum: String

        /// Creates a repeated upload.
        package init(
            _ file: String, in group: String, version: Int, mimeType: String, content: Content, checkSum: String
        ) {
            self.file = file
            self.group = group
            self.version = version
            self.mimeType = mimeType
            self.content = content
            self.checkSum = checkSum
        }
    }

    /// A file of a group.
    package struct FileSelection: Hashable, Sendable {
        package var file: String
        package var group: GroupSelection

        /// Selects a file.
        package init(_ file: String, in group: GroupSelection) {
            self.file = file
            self.group = group
        }
    }

    /// The parameters of UploadFile.
    package struct Upload: Hashable, Sendable {
        package var file: String
        package var group: GroupSelection
        package var version: Int
        package var mimeType: String
        package var content: Content
        package var checkSum: String
        package var fileGroup: String?
        package var metadata: Metadata?
        package var undeletes: Bool
        package var batch: Batch?

        /// Creates an upload.
        package init(
            _ file: String, in group: GroupSelection, version: Int, mimeType: String, content: Content,
            checkSum: String, fileGroup: String? = nil, metadata: Metadata? = nil, undeletes: Bool = false
        ) {
            self.file = file
            self.group = group
            self.version = version
            self.mimeType = mimeType
            self.content = content
            self.checkSum = checkSum
            self.fileGroup = fileGroup
            self.metadata = metadata
            self.undeletes = undeletes
        }
    }
}

extension Request {
    /// The group that the request names; nil if none.
    package var group: String? {
        switch self {
        case .healthCheck, .checkPrimaryCreds, .checkCreds, .removeUser, .getSharingInvitationInfo,
            .redeemSharingInvitation, .registerPushNotificationToken, .confirmAccountSwitch, .finishAccountSwitch,
            .getAccountSwitchStatus:
            nil
        case .index(let group, _): group
        case .addUser(let group, _, _), .getUploads(let group), .createSharingInvitation(let group, _, _, _),
            .createSharingGroup(let group, _), .discardUploads(let group, _, _), .getSharingInvitations(let group),
            .revokeSharingInvitation(let group, _), .getSharingGroupMembers(let group):
            group
        case .uploadFile(let upload): upload.group.group
        case .reuploadFile(let upload): upload.group
        case .uploadAppMetaData(let file, _, _), .uploadDeletion(let file, _, _), .downloadFile(let file, _, _),
            .downloadAppMetaData(let file, _):
            file.group.group
        case .doneUploads(let group, _, _, _), .updateSharingGroup(let group, _), .removeSharingGroup(let group),
            .removeUserFromSharingGroup(let group), .updateSharingGroupMember(let group, _, _),
            .removeSharingGroupMember(let group, _):
            group.group
        }
    }
}
