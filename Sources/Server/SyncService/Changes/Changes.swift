import Store
import SyncProtocol

/// Admits the caller to the signals about their groups.
///
/// If the client names the current state, the web server holds the connection until there are signals; no thread of
/// this server waits. Any other client immediately receives a reply to request Index, with the state to name next time.
/// So a client misses no commit made before the wait, on any host and however long ago. Reads only; may be repeated.
struct ChangesEndpoint: Endpoint {
    /// The maximum number of groups that the answer to a client with an older state names.
    static let namedGroups = 100
    /// How soon a browser connects again with the state that it has learned, in milliseconds.
    private static let retryMilliseconds = 500

    /// - Throws: ``ErrorCode/endpointUnknown`` if the web server offers no signals.
    func respond(
        to request: ChangesRequest, from caller: SignedInUser, in context: RequestContext
    ) throws -> EndpointReply {
        guard let location = context.head.streamLocation, let streams = context.services.changeStreams else {
            throw Refusal(.endpointUnknown)
        }
        let groups = try context.store.snapshot { session in try session.groups(of: caller.userID) }
        let tag = EntityTag(
            groups: groups, request: IndexRequest(), caller: caller.userID,
            serverVersion: context.services.settings.serverVersion)
        let known = context.head.header(.lastEventID)
        let isStream = context.head.header(.accept)?.contains(ChangeSignal.streamType) == true
        if let known, known == tag.bare || known == tag.text {
            streams.opened(by: caller.userID, with: caller.person.presented)
            return .elsewhere(location: location + (isStream ? "stream/" : "poll/") + "\(caller.userID)")
        }
        guard isStream else { return .json(ChangeSignal(change: nil, lastEventID: tag.bare)) }
        var stream = Array("retry: \(Self.retryMilliseconds)\n\n".utf8)
        if known != nil, groups.count <= Self.namedGroups {
            for group in groups {
                let change = ChangeSignal.Change(
                    sharingGroupUUID: group.sharingGroupUUID, masterVersion: group.masterVersion)
                ChangeSignal(change: change).write(.change, to: &stream)
            }
        }
        ChangeSignal(change: nil).write(.index, id: tag.bare, to: &stream)
        return .events(stream)
    }
}

extension ChangesRequest: ServedRequest {
    typealias Handler = ChangesEndpoint
}

extension EntityTag {
    /// Without quotes: the id of an event must survive clients that know nothing of entity tags.
    var bare: String { String(text.dropFirst().dropLast()) }
}
