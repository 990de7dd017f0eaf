public import Store

/// Where the server is closed for maintenance, and the messages for users.
public struct MaintenanceReport: Report {
    /// The notice of all hosts; absent if it is open there.
    public var allHosts: MaintenanceNotice?
    /// The message of only this host; absent if it is open.
    public var thisHost: String?

    public init(allHosts: MaintenanceNotice?, thisHost: String?) {
        self.allHosts = allHosts
        self.thisHost = thisHost
    }

    /// Whether it is open everywhere.
    public var isOpen: Bool { allHosts == nil && thisHost == nil }

    public var lines: [String] {
        var lines: [String] = []
        if let allHosts { lines.append("CLOSED    on all hosts since \(allHosts.since): \(allHosts.text)") }
        if let thisHost { lines.append("CLOSED    on this host: \(thisHost)") }
        return lines.isEmpty ? ["open"] : lines
    }
}
