/// The answer of an endpoint that stages a change of a file without bytes.
public enum StagingResponse: ResponseMessage {
    /// The change waits for its commit.
    case staged
    /// It was the last of its batch: all of the batch is committed as this master version.
    case committed(masterVersion: MasterVersion)
    /// The client's master version is not the group's. Nothing was done; the client reads the index and tries again.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of another master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case committedMasterVersion, masterVersionUpdate
    }

    /// Decodes a reply; any `masterVersionUpdate` means stale.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let current = try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate) {
            self = .stale(current: current)
        } else {
            self =
                try container.decodeIfPresent(MasterVersion.self, forKey: .committedMasterVersion)
                .map { .committed(masterVersion: $0) } ?? .staged
        }
    }

    /// Writes `{}` if there is nothing to say.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .staged: break
            case .committed(let masterVersion): writer.field("committedMasterVersion", masterVersion)
            case .stale(let current): writer.field("masterVersionUpdate", current)
            }
        }
    }
}
