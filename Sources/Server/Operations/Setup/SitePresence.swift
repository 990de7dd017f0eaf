import Store

/// What nginx's site says about the host that was set up: the answers of last time.
public struct SitePresence: Sendable, Equatable {
    /// The first name that it serves; `nil` if there is no site, or it has none.
    public private(set) var host: String?
    /// `nil` if it serves plain HTTP only.
    public private(set) var certificate: SetupAnswers.Certificate?
    /// The load balancers whose PROXY protocol it reads.
    public private(set) var balancers: [String] = []
    /// Whether it has what this host's own monitoring asks.
    public private(set) var isMonitored = false

    /// - Parameter site: the text of `sites-available/syncd.conf`.
    public init(_ site: String) {
        let directives = NginxDirective.read(NginxFiles(dump: "# configuration file site:\n\(site)"))
        let servers = directives.filter { $0.name == "server" }.map(\.block)
        let served = servers.first { $0.value("ssl_certificate") != nil } ?? servers.first
        host = served?.value("server_name")
        if let host, let file = served?.value("ssl_certificate"), let key = served?.value("ssl_certificate_key") {
            let usual: [SetupAnswers.Certificate] = [.letsEncrypt, .ownAuthority]
            certificate =
                usual.first { SiteText.files(of: $0, host: host) == (file, key) } ?? .files(certificate: file, key: key)
        }
        if let served, served.all("listen").contains(where: { $0.contains("proxy_protocol") }) {
            balancers = served.all("set_real_ip_from").compactMap(\.first)
        }
        // The pages of added apps are in the site of the package's.
        isMonitored =
            HostedApp.current.name != nil
            || site.split(separator: "\n").contains { line in
                line.split(whereSeparator: { " \t".contains($0) }).elementsEqual([
                    "include", "syncd/syncd-metrics.conf;",
                ])
            }
    }
}
