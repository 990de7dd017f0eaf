/// Waits for changes in the caller's sharing groups: a stream of server-sent events, or one reply (long polling).
///
/// The header `Last-Event-ID` names the state that the client knows; `Accept: text/event-stream` requests the stream.
public struct ChangesRequest: RequestMessage {
    public typealias Response = ChangeSignal
    public typealias Access = UserAccess
    public static let endpoint = EndpointName.changes
    public static let fields = QueryFields(Self.init)

    /// A request has no parameters.
    public init() {}
}

/// A hint that something has changed: the data of an event, or the reply to a long poll.
///
/// A signal may be lost, and may be false: it never replaces Index, but only indicates when to request it.
public struct ChangeSignal: ResponseMessage {
    /// The changed group, and its master version.
    public struct Change: Sendable, Hashable {
        public let sharingGroupUUID: SharingGroupUUID
        public let masterVersion: MasterVersion

        public init(sharingGroupUUID: SharingGroupUUID, masterVersion: MasterVersion) {
            self.sharingGroupUUID = sharingGroupUUID
            self.masterVersion = masterVersion
        }
    }

    /// The type of an event.
    public enum Event: String, Sendable, Hashable {
        /// The group has a new master version.
        case change
        /// The client does not know the current state of its groups: Index describes it.
        case index
    }

    /// `nil` if the signal does not name a group: the client requests the whole Index.
    public let change: Change?
    /// Long polling: the value for `Last-Event-ID` that names the current state; the id of the last event in a stream.
    public let lastEventID: String?

    public init(change: Change?, lastEventID: String? = nil) {
        self.change = change
        self.lastEventID = lastEventID
    }

    private enum CodingKeys: String, CodingKey {
        case sharingGroupUUID, masterVersion
        case lastEventID = "lastEventId"
    }

    /// Decodes the data of an event, or a reply. An incomplete change counts as none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let group = try container.decodeIfPresent(SharingGroupUUID.self, forKey: .sharingGroupUUID)
        let version = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersion)
        change =
            if let group, let version { Change(sharingGroupUUID: group, masterVersion: version) } else { nil }
        lastEventID = try container.decodeIfPresent(String.self, forKey: .lastEventID)
    }

    /// Writes one object on one line, as an event requires.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("sharingGroupUUID", change?.sharingGroupUUID)
            writer.field("masterVersion", change?.masterVersion)
            writer.field("lastEventId", text: lastEventID)
        }
    }

    /// The media type of a stream of events (HTML Living Standard, "Server-sent events").
    public static let streamType = "text/event-stream"

    /// Writes an event as it appears in a stream.
    public func write(_ event: Event, id: String? = nil, to stream: inout [UInt8]) {
        if let id { stream += Array("id: \(id)\n".utf8) }
        stream += Array("event: \(event.rawValue)\ndata: ".utf8) + body + Array("\n\n".utf8)
    }
}
