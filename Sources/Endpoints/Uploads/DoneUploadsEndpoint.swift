import Logging
import OpenSSLCrypto
import Push
import Store
import SyncProtocol

/// Makes everything that the calling device has staged in a group part of the group, in one step.
///
/// A repeated request is stale, since the first has advanced the master version; if nothing has happened since, it gets
/// the reply of the first one. Clouds are told after the reply, from the outbox.
struct DoneUploadsEndpoint: Endpoint {
    func respond(to request: DoneUploadsRequest, in context: RequestContext) throws -> EndpointReply {
        let hash = Self.hash(of: request)
        let response: DoneUploadsResponse = try context.store.transaction { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .write, using: &session)
            let area = StagingArea(
                userID: context.caller.userID, deviceUUID: context.device, groupID: membership.groupID)
            switch try session.advanceMasterVersion(of: membership.groupID, from: request.masterVersion) {
            case .stale(let current):
                if let transferred = try remembered(hash, request, area, &session) {
                    return .committed(numberUploadsTransferred: transferred)
                }
                return .stale(current: current)
            case .advanced(let version):
                let transferred = try session.commitStaged(
                    in: area, owningUser: membership.owningUser, as: version, at: context.now)
                if let name = request.sharingGroupName { try session.rename(membership.groupID, to: name) }
                if let text = pushText(request, membership, context) {
                    try session.addPush(
                        text, from: context.caller.userID, to: membership.groupID, at: context.now)
                }
                try session.remember(
                    RememberedCommit(
                        userID: area.userID, deviceUUID: area.deviceUUID, requestHash: hash, masterVersion: version,
                        transferred: transferred), of: membership.groupID)
                return .committed(numberUploadsTransferred: transferred)
            }
        }
        return .json(response)
    }

    /// What the other members are told; `nil` if nothing.
    private func pushText(
        _ request: DoneUploadsRequest, _ membership: Membership, _ context: RequestContext
    ) -> String? {
        guard let message = request.pushNotificationMessage else { return nil }
        guard !context.services.push.isEmpty else {
            context.logger.debug("Nobody is notified: push is not configured")
            return nil
        }
        return PushText.composed(
            sender: context.caller.displayName, group: request.sharingGroupName ?? membership.groupName,
            message: message)
    }

    /// The reply of the first of two equal requests, if nothing has happened in between.
    private func remembered(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> Int32? {
        guard let last = try session.rememberedCommit(of: area.groupID), last.userID == area.userID,
            last.deviceUUID == area.deviceUUID, last.requestHash == hash,
            last.masterVersion.rawValue - 1 == request.masterVersion.rawValue,
            try session.stagedChanges(in: area, locked: true).isEmpty
        else { return nil }
        return last.transferred
    }

    /// Tells requests apart: equal only if every parameter is.
    private static func hash(of request: DoneUploadsRequest) -> [UInt8] {
        IncrementalDigest.digest(of: Array(request.encodedQuery.utf8), .sha256)
    }
}
