import Foundation
import SyncProtocol
import TestSupport
import Testing

/// Calls every endpoint as every kind of caller, and compares the replies with the table of endpoints.
@Suite("Permissions")
struct AccessTests {
    /// A kind of caller.
    enum Caller: CaseIterable {
        /// Without credentials.
        case nobody
        /// With valid credentials, but not a user yet.
        case newcomer
        /// A user who is not a member of the group.
        case stranger
        case reader, writer, admin

        var permission: Permission? {
            switch self {
            case .nobody, .newcomer, .stranger: nil
            case .reader: .read
            case .writer: .write
            case .admin: .admin
            }
        }
    }

    /// The status and error code of a reply.
    struct Answer: Equatable {
        var status: Int
        var code: String?
        static let served = Answer(status: 200)
    }

    /// The complete rules.
    private static func expected(_ route: EndpointRoute, _ caller: Caller) -> Answer {
        switch (route.endpoint, caller) {
        case (.appleNotifications, _): return Answer(status: 400, code: "parameter_out_of_range")
        case (_, .nobody) where route.authentication != .none: return Answer(status: 401, code: "credentials_missing")
        case (_, .newcomer) where route.authentication == .secondary: return Answer(status: 401, code: "user_unknown")
        case (.addUser, .stranger), (.addUser, .reader), (.addUser, .writer), (.addUser, .admin):
            return Answer(status: 409, code: "user_exists")
        case (.redeemSharingInvitation, .reader), (.redeemSharingInvitation, .writer),
            (.redeemSharingInvitation, .admin):
            return Answer(status: 409, code: "already_member")
        case (.uploadOptions, _): return Answer(status: 204, code: nil)
        // An upload belongs to its user, regardless of the group.
        case (.getUploadOffset, _), (.appendToUpload, _), (.abandonUpload, _):
            return Answer(status: 404, code: "upload_unknown")
        case (.beginAccountSwitch, _), (.undoAccountSwitch, _), (.revokeDeviceGrants, _):
            return Answer(status: 409, code: "grant_invalid")
        case (.confirmAccountSwitch, _), (.finishAccountSwitch, _): return Answer(status: 404, code: "switch_unknown")
        case (.getAccountSwitchStatus, .newcomer): return Answer(status: 401, code: "user_unknown")
        case (.reuploadFile, .writer), (.reuploadFile, .admin): return Answer(status: 404, code: "file_unknown")
        case (.uploadSmallFiles, .writer), (.uploadSmallFiles, .admin):
            return Answer(status: 415, code: "media_type_unsupported")
        default: break
        }
        switch route.groupAccess {
        case .none: return .served
        case .membershipIfNamed:
            return caller == .stranger ? Answer(status: 404, code: "group_unknown") : .served
        case .membership:
            return caller == .stranger ? Answer(status: 410, code: "not_a_member") : .served
        case .permission(let needed):
            guard let permission = caller.permission else { return Answer(status: 410, code: "not_a_member") }
            return permission >= needed ? .served : Answer(status: 409, code: "permission_too_low")
        }
    }

    /// The parameters of a well-formed request that does not affect the other callers: where the endpoint takes a
    /// master version, it is stale.
    private func parameters(_ endpoint: EndpointName, _ group: TestUser, _ invitation: String) -> [String: String?] {
        let inGroup: [String: String?] = ["sharingGroupUUID": group.group]
        let stale = inGroup.merging(["masterVersion": "77"]) { $1 }
        let ofFile = stale.merging(["fileUUID": UUID().uuidString, "fileVersion": "0"]) { $1 }
        return switch endpoint {
        case .healthCheck, .checkPrimaryCreds, .checkCreds, .removeUser, .appleNotifications, .revokeDeviceGrants: [:]
        case .changes: [:]
        case .addUser, .createSharingGroup: ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": "Folder"]
        case .index, .getUploads, .discardUploads, .getSharingInvitations, .getSharingGroupMembers,
            .uploadSmallFiles:
            inGroup
        case .uploadOptions: [:]
        case .getUploadOffset, .appendToUpload, .abandonUpload: ["uploadUUID": UUID().uuidString]
        case .uploadFile, .createUpload:
            ofFile.merging(["mimeType": "text/plain", "checkSum": TestFile().checkSum]) { $1 }
        case .uploadAppMetaData:
            ofFile.merging(["fileVersion": nil, "appMetaData": TestMetadata(0, "x").parameter]) { $1 }
        case .uploadDeletion, .downloadFile: ofFile
        case .downloadAppMetaData: ofFile.merging(["fileVersion": nil, "appMetaDataVersion": "0"]) { $1 }
        case .doneUploads, .removeSharingGroup, .removeUserFromSharingGroup: stale
        case .updateSharingGroup: stale.merging(["sharingGroupName": "New"]) { $1 }
        case .createSharingInvitation: inGroup.merging(["permission": "read"]) { $1 }
        case .getSharingInvitationInfo: ["sharingInvitationUUID": invitation]
        case .redeemSharingInvitation: ["sharingInvitationUUID": invitation, "cloudFolderName": "Folder"]
        case .revokeSharingInvitation: inGroup.merging(["sharingInvitationUUID": UUID().uuidString]) { $1 }
        case .registerPushNotificationToken:
            ["pushNotificationToken": UUID().uuidString.filter { $0 != "-" }, "pushNotificationKind": "apns"]
        case .beginAccountSwitch, .undoAccountSwitch: ["userAppId": UUID().uuidString]
        case .confirmAccountSwitch: ["switchId": UUID().uuidString, "expectedEpoch": "0"]
        case .cancelAccountSwitch, .finishAccountSwitch: ["switchId": UUID().uuidString]
        case .getAccountSwitchStatus: [:]
        case .reuploadFile:
            ofFile.merging([
                "masterVersion": nil, "mimeType": "text/plain", "checkSum": TestFile().checkSum,
            ]) { $1 }
        case .updateSharingGroupMember: stale.merging(["userId": "\(group.userID)", "permission": "read"]) { $1 }
        case .removeSharingGroupMember: stale.merging(["userId": "\(group.userID)"]) { $1 }
        }
    }

    @Test(
        "Each endpoint serves the callers that the table allows, and rejects all others with the expected code",
        arguments: EndpointName.allCases.filter { !$0.route.isDebugOnly })
    func access(endpoint: EndpointName) throws {
        let server = try TestServer.shared()
        let route = endpoint.route
        let owner = try server.signUpOwningUser()
        let invitation = try owner.invite(.read, acceptors: 10)
        let people: [Caller: TestUser] = [
            .newcomer: try server.newcomer(), .stranger: try server.signUpOwningUser(name: "Stranger"),
            .reader: try owner.newMember(.read, provider: .google),
            .writer: try owner.newMember(.write, provider: .google),
            .admin: try owner.newMember(.admin, provider: .google),
        ]

        for caller in Caller.allCases {
            let device = [(name: "SyncServer-Device-UUID", value: UUID().uuidString)]
            let hasBody = [.uploadFile, .uploadSmallFiles, .reuploadFile, .appendToUpload].contains(endpoint)
            let length =
                endpoint == .createUpload ? [(name: "Upload-Length", value: "\(TestFile().contents.count)")] : []
            let reply = try server.call(
                route.method.rawValue, endpoint.rawValue, parameters(endpoint, owner, invitation),
                headers: (people[caller]?.headers ?? device) + length, body: hasBody ? TestFile().contents : nil)

            // A reply to HEAD has no body.
            let code = reply.json?.code?.text ?? reply.values(of: "syncserver-error-code").first
            let answer = Answer(status: reply.status, code: code)
            #expect(answer == Self.expected(route, caller), "\(endpoint) of \(caller): \(reply)")
        }
        // Three members joined beforehand; since then, the group changes only when somebody joins or leaves.
        let changes: Int64 =
            switch endpoint {
            case .removeUser: 3
            case .redeemSharingInvitation: 2
            default: 0
            }
        #expect(try owner.index().masterVersion == 3 + changes)
    }
}
