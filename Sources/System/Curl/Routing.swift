/// Where connections go instead of the hosts in the URLs; for running against emulated servers.
public struct Routing: Sendable, Equatable {
    /// `host:port` of every connection, regardless of the URL; nil for the URL's own host. The URL, the `Host` header
    /// and the name in the certificate stay as they are (CURLOPT_CONNECT_TO(3)).
    public var connectTo: String?
    /// A PEM file of the certificate authorities to trust instead of the system's; nil for the system's.
    public var caFile: String?

    /// Creates a routing; without arguments, the production one.
    public init(connectTo: String? = nil, caFile: String? = nil) {
        self.connectTo = connectTo
        self.caFile = caFile
    }

    /// Connections go where the URLs say, and the system's certificate authorities are trusted.
    public static let direct = Routing()
}
