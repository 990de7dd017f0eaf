import SyncModel
import TestSupport

/// A request of the model in the form that a phone sends.
struct PhoneCall {
    let request: Request
    let method: String
    let endpoint: String
    let parameters: [String: String?]
    var body: [UInt8]?

    init(_ request: Request) {
        self.request = request
        switch request {
        case .healthCheck: (method, endpoint, parameters) = ("GET", "HealthCheck", [:])
        case .checkPrimaryCreds: (method, endpoint, parameters) = ("GET", "CheckPrimaryCreds", [:])
        case .checkCreds: (method, endpoint, parameters) = ("GET", "CheckCreds", [:])
        case .addUser(let group, let name, let folder):
            (method, endpoint) = ("POST", "AddUser")
            parameters = ["sharingGroupUUID": group, "sharingGroupName": name, "cloudFolderName": folder]
        case .removeUser: (method, endpoint, parameters) = ("POST", "RemoveUser", [:])
        case .index(let group, let since):
            (method, endpoint) = ("GET", "Index")
            parameters = ["sharingGroupUUID": group, "since": since.map(String.init)]
        case .uploadFile(let upload):
            (method, endpoint) = ("POST", "UploadFile")
            body = upload.content.bytes
            parameters = Self.parameters(
                Request.FileSelection(upload.file, in: upload.group),
                [
                    "mimeType": upload.mimeType, "fileVersion": String(upload.version), "checkSum": upload.checkSum,
                    "fileGroupUUID": upload.fileGroup, "appMetaData": upload.metadata?.parameter,
                    "undeleteServerFile": upload.undeletes ? "1" : nil,
                ], upload.batch)
        case .uploadAppMetaData(let file, let metadata, let batch):
            (method, endpoint) = ("POST", "UploadAppMetaData")
            parameters = Self.parameters(file, ["appMetaData": metadata.parameter], batch)
        case .uploadDeletion(let file, let version, let batch):
            (method, endpoint) = ("DELETE", "UploadDeletion")
            parameters = Self.parameters(file, ["fileVersion": String(version)], batch)
        case .discardUploads(let group, let files, let batch):
            (method, endpoint) = ("POST", "DiscardUploads")
            parameters = [
                "sharingGroupUUID": group, "fileUUIDs": files?.joined(separator: ","), "batchUUID": batch,
            ]
        case .getUploads(let group):
            (method, endpoint, parameters) = ("GET", "GetUploads", ["sharingGroupUUID": group])
        case .doneUploads(let group, let name, let message, let commitID):
            (method, endpoint) = ("POST", "DoneUploads")
            parameters = Self.parameters(
                group, ["sharingGroupName": name, "pushNotificationMessage": message, "commitId": commitID])
        case .downloadFile(let file, let version, let metadataVersion):
            (method, endpoint) = ("GET", "DownloadFile")
            parameters = Self.parameters(
                file, ["fileVersion": String(version), "appMetaDataVersion": metadataVersion.map(String.init)])
        case .downloadAppMetaData(let file, let metadataVersion):
            (method, endpoint) = ("GET", "DownloadAppMetaData")
            parameters = Self.parameters(file, ["appMetaDataVersion": String(metadataVersion)])
        case .createSharingInvitation(let group, let permission, let allowsSocial, let acceptors):
            (method, endpoint) = ("POST", "CreateSharingInvitation")
            parameters = [
                "sharingGroupUUID": group, "permission": permission.rawValue,
                "allowSocialAcceptance": allowsSocial ? "1" : "0", "numberOfAcceptors": String(acceptors),
            ]
        case .getSharingInvitationInfo(let code):
            (method, endpoint, parameters) = ("GET", "GetSharingInvitationInfo", ["sharingInvitationUUID": code])
        case .redeemSharingInvitation(let code, let folder):
            (method, endpoint) = ("POST", "RedeemSharingInvitation")
            parameters = ["sharingInvitationUUID": code, "cloudFolderName": folder]
        case .createSharingGroup(let group, let name):
            (method, endpoint) = ("POST", "CreateSharingGroup")
            parameters = ["sharingGroupUUID": group, "sharingGroupName": name]
        case .updateSharingGroup(let group, let name):
            (method, endpoint) = ("PATCH", "UpdateSharingGroup")
            parameters = Self.parameters(group, ["sharingGroupName": name])
        case .removeSharingGroup(let group):
            (method, endpoint, parameters) = ("POST", "RemoveSharingGroup", Self.parameters(group))
        case .registerPushNotificationToken(let token):
            (method, endpoint) = ("POST", "RegisterPushNotificationToken")
            parameters = ["pushNotificationToken": token]
        case .removeUserFromSharingGroup(let group):
            (method, endpoint, parameters) = ("POST", "RemoveUserFromSharingGroup", Self.parameters(group))
        case .getSharingInvitations(let group):
            (method, endpoint, parameters) = ("GET", "GetSharingInvitations", ["sharingGroupUUID": group])
        case .revokeSharingInvitation(let group, let code):
            (method, endpoint) = ("POST", "RevokeSharingInvitation")
            parameters = ["sharingGroupUUID": group, "sharingInvitationUUID": code]
        case .getSharingGroupMembers(let group):
            (method, endpoint, parameters) = ("GET", "GetSharingGroupMembers", ["sharingGroupUUID": group])
        case .updateSharingGroupMember(let group, let user, let permission):
            (method, endpoint) = ("PATCH", "UpdateSharingGroupMember")
            parameters = Self.parameters(group, ["userId": String(user), "permission": permission.rawValue])
        case .removeSharingGroupMember(let group, let user):
            (method, endpoint) = ("POST", "RemoveSharingGroupMember")
            parameters = Self.parameters(group, ["userId": String(user)])
        case .confirmAccountSwitch(let confirmation):
            (method, endpoint) = ("POST", "ConfirmAccountSwitch")
            parameters = [
                "switchId": confirmation.id, "expectedEpoch": String(confirmation.epoch),
                "moveContents": confirmation.movesContents ? "true" : nil,
            ]
        case .reuploadFile(let upload):
            (method, endpoint) = ("POST", "ReuploadFile")
            body = upload.content.bytes
            parameters = [
                "fileUUID": upload.file, "sharingGroupUUID": upload.group, "fileVersion": String(upload.version),
                "mimeType": upload.mimeType, "checkSum": upload.checkSum,
            ]
        case .finishAccountSwitch(let id, let missing):
            (method, endpoint) = ("POST", "FinishAccountSwitch")
            parameters = ["switchId": id, "missing": missing.rawValue]
        case .getAccountSwitchStatus: (method, endpoint, parameters) = ("GET", "GetAccountSwitchStatus", [:])
        }
    }

    private static func parameters(
        _ group: Request.GroupSelection, _ others: [String: String?] = [:]
    ) -> [String: String?] {
        others.merging(["sharingGroupUUID": group.group, "masterVersion": String(group.masterVersion)]) { $1 }
    }

    private static func parameters(
        _ file: Request.FileSelection, _ others: [String: String?], _ batch: Request.Batch? = nil
    ) -> [String: String?] {
        parameters(file.group, others).merging([
            "fileUUID": file.file, "batchUUID": batch?.uuid, "batchCount": batch.map { String($0.count) },
        ]) { $1 }
    }

    /// Returns the request with the headers of a phone.
    func call(from device: String, account: SandboxAccount) -> HTTPCall {
        HTTPCall(
            method, "/\(endpoint)/\(ClientQuery.text(parameters))",
            headers: account.headers + [("SyncServer-Device-UUID", device)], body: body)
    }

    /// Whether the transfer role handles the request.
    var isTransfer: Bool { ["UploadFile", "ReuploadFile", "DownloadFile"].contains(endpoint) }

    /// One line for the list of operations, without contents.
    var description: String {
        let shown = parameters.compactMap { name, value in
            value.map { (name, name == "appMetaData" ? "\($0.prefix(24))…" : $0) }
        }.sorted { $0.0 < $1.0 }
        let line = ([endpoint] + shown.map { "\($0.0)=\($0.1)" } + (body.map { ["[\($0.count) bytes]"] } ?? []))
            .joined(separator: " ")
        return line.replacing("\n", with: "\\n")
    }
}

extension Metadata {
    /// The value of `appMetaData`.
    fileprivate var parameter: String { TestMetadata(version, contents).parameter }
}
