import Store

/// The answers of the last setup, read from nginx's site.
public struct SitePresence: Sendable, Equatable {
    /// The first name that it serves; `nil` without a site or a name.
    public private(set) var host: String?
    /// `nil` if it serves only plain HTTP.
    public private(set) var certificate: SetupAnswers.Certificate?
    /// The load balancers from which it accepts the PROXY protocol.
    public private(set) var balancers: [String] = []
    /// Whether it has the page for this host's monitoring.
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
        // The site of the package's app contains the pages of added apps.
        isMonitored =
            HostedApp.current.name != nil
            || site.split(separator: "\n").contains { line in
                line.split(whereSeparator: { " \t".contains($0) }).elementsEqual([
                    "include", "syncd/syncd-metrics.conf;",
                ])
            }
    }
}
