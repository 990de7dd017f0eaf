/// The answer of an endpoint that checks the master version and has nothing else to say.
public enum MasterVersionCheckedResponse: ResponseMessage {
    /// The request was carried out.
    case accepted
    /// The client's master version is not the group's. Nothing was done; the client reads the index and tries again.
    case stale(current: MasterVersion)

    /// Whether nothing was done because of another master version.
    public var isStale: Bool { if case .stale = self { true } else { false } }

    private enum CodingKeys: String, CodingKey {
        case masterVersionUpdate
    }

    /// Decodes a reply; any `masterVersionUpdate` means stale.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self =
            try container.decodeIfPresent(MasterVersion.self, forKey: .masterVersionUpdate)
            .map { .stale(current: $0) } ?? .accepted
    }

    /// Writes `{}` or `{"masterVersionUpdate":…}`.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .accepted: break
            case .stale(let current): writer.field("masterVersionUpdate", current)
            }
        }
    }
}
