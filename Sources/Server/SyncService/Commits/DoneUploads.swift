import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol

/// Commits, in one step, everything that the calling device has staged in a group outside of batches.
///
/// A repeated request is stale, since the first one has advanced the master version. It gets the first reply if nothing
/// has happened since or if the request has an id. Clouds are updated after the reply, through the outbox.
struct DoneUploadsEndpoint: Endpoint {
    func respond(
        to request: DoneUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let hash = Self.hash(of: request)
        let (response, isCommit): (DoneUploadsResponse, Bool) = try context.store.transaction { session in
            let read = try caller.member(of: request.sharingGroupUUID, using: &session)
            let area = read.stagingArea
            // Versions only increase, so an outdated request can be recognized without waiting for a commit.
            guard read.masterVersion.rawValue <= request.masterVersion.rawValue else {
                return (try repeated(hash, request, area, &session) ?? .stale(current: read.masterVersion), false)
            }
            switch try session.advanceMasterVersion(of: read.groupID, from: request.masterVersion) {
            case .stale(let current):
                _ = try caller.member(read, lockedAt: current, using: &session)
                return (try repeated(hash, request, area, &session) ?? .stale(current: current), false)
            case .advanced(let version):
                let member = try caller.member(read, lockedAt: request.masterVersion, using: &session)
                let commit = GroupCommit(
                    member: member, version: version, batch: nil, commitID: request.commitID, requestHash: hash,
                    groupName: request.sharingGroupName, pushMessage: request.pushNotificationMessage)
                let transferred = try commit.perform(in: context, using: &session)
                try session.remember(
                    LastCommit(
                        userID: area.userID, deviceUUID: area.deviceUUID, requestHash: hash, masterVersion: version,
                        transferred: transferred), of: member.groupID)
                return (.committed(numberUploadsTransferred: transferred), true)
            }
        }
        context.hasCommitted = isCommit
        return .json(response)
    }

    /// The reply to the first of two identical requests.
    private func repeated(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> DoneUploadsResponse? {
        let transferred =
            try replyUnderID(hash, request, area, &session) ?? replyOfLastCommit(hash, request, area, &session)
        return transferred.map { .committed(numberUploadsTransferred: $0) }
    }

    /// The reply to the first request with this id, regardless of later changes.
    private func replyUnderID(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> Int32? {
        guard let commitID = request.commitID, let commit = try session.identifiedCommit(commitID, in: area) else {
            return nil
        }
        guard commit.requestHash == hash else { throw Refusal(.commitIdReused) }
        return commit.transferred
    }

    /// The reply to the first of two identical requests, if nothing has happened in between.
    private func replyOfLastCommit(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> Int32? {
        guard let last = try session.lastCommit(of: area.groupID), last.userID == area.userID,
            last.deviceUUID == area.deviceUUID, last.requestHash == hash,
            last.masterVersion.rawValue - 1 == request.masterVersion.rawValue,
            try session.changesToCommit(in: area).isEmpty
        else { return nil }
        return last.transferred
    }

    /// Identifies a request: two hashes are equal only if all parameters are.
    private static func hash(of request: DoneUploadsRequest) -> [UInt8] {
        IncrementalDigest.digest(of: Array(request.encodedQuery.utf8), .sha256)
    }
}

extension DoneUploadsRequest: ServedRequest {
    typealias Handler = DoneUploadsEndpoint
}
