import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol

/// Makes everything that the calling device has staged in a group part of the group, in one step.
///
/// A repeated request is stale, since the first has advanced the master version; it gets the reply of the first one if
/// nothing has happened since, and if the request has an id, in any case. Clouds are told after the reply, from the
/// outbox.
struct DoneUploadsEndpoint: Endpoint {
    func respond(
        to request: DoneUploadsRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let hash = Self.hash(of: request)
        let (response, isCommit): (DoneUploadsResponse, Bool) = try context.store.transaction { session in
            let read = try caller.member(of: request.sharingGroupUUID, using: &session)
            let area = read.stagingArea
            // Versions only rise: a request that is behind is known to be so without waiting for anybody's commit.
            guard read.masterVersion.rawValue <= request.masterVersion.rawValue else {
                return (try repeated(hash, request, area, &session) ?? .stale(current: read.masterVersion), false)
            }
            switch try session.advanceMasterVersion(of: read.groupID, from: request.masterVersion) {
            case .stale(let current):
                _ = try caller.member(read, lockedAt: current, using: &session)
                return (try repeated(hash, request, area, &session) ?? .stale(current: current), false)
            case .advanced(let version):
                let member = try caller.member(read, lockedAt: request.masterVersion, using: &session)
                let transferred = try session.commitStaged(
                    in: area, owningUser: member.owningUser, as: version, at: context.now)
                if let name = request.sharingGroupName { try session.rename(member.groupID, to: name) }
                try context.notify(
                    othersIn: member, named: request.sharingGroupName ?? member.groupName,
                    of: request.pushNotificationMessage, using: &session)
                try session.remember(
                    LastCommit(
                        userID: area.userID, deviceUUID: area.deviceUUID, requestHash: hash, masterVersion: version,
                        transferred: transferred), of: member.groupID)
                if let commitID = request.commitID {
                    try record(
                        IdentifiedCommit(requestHash: hash, masterVersion: version, transferred: transferred),
                        as: commitID, area, at: context.now, &session)
                }
                return (.committed(numberUploadsTransferred: transferred), true)
            }
        }
        context.hasCommitted = isCommit
        return .json(response)
    }

    /// The reply of the first of two equal requests.
    private func repeated(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> DoneUploadsResponse? {
        let transferred =
            try recorded(hash, request, area, &session) ?? remembered(hash, request, area, &session)
        return transferred.map { .committed(numberUploadsTransferred: $0) }
    }

    /// The reply of the first request with this id, whatever has happened since.
    private func recorded(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> Int32? {
        guard let commitID = request.commitID, let recorded = try session.identifiedCommit(commitID, in: area) else {
            return nil
        }
        guard recorded.requestHash == hash else { throw EndpointError.commitIDReused }
        return recorded.transferred
    }

    private func record(
        _ commit: IdentifiedCommit, as commitID: CommitID, _ area: StagingArea, at now: WireDate,
        _ session: inout StoreSession
    ) throws {
        do {
            try session.record(commit, as: commitID, in: area, at: now)
        } catch StoreError.alreadyExists {
            // The same id for another master version, or it would have been stale.
            throw EndpointError.commitIDReused
        }
    }

    /// The reply of the first of two equal requests, if nothing has happened in between.
    private func remembered(
        _ hash: [UInt8], _ request: DoneUploadsRequest, _ area: StagingArea, _ session: inout StoreSession
    ) throws -> Int32? {
        guard let last = try session.lastCommit(of: area.groupID), last.userID == area.userID,
            last.deviceUUID == area.deviceUUID, last.requestHash == hash,
            last.masterVersion.rawValue - 1 == request.masterVersion.rawValue,
            try session.changesToCommit(in: area).isEmpty
        else { return nil }
        return last.transferred
    }

    /// Tells requests apart: equal only if every parameter is.
    private static func hash(of request: DoneUploadsRequest) -> [UInt8] {
        IncrementalDigest.digest(of: Array(request.encodedQuery.utf8), .sha256)
    }
}
