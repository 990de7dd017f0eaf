import Store

/// nginx's site for one host, generated from the template that the package installs.
public enum SiteText {
    private static let exampleHost = "sync.example.com"
    private static let listeners = "    listen 443 ssl;\n    listen [::]:443 ssl;\n"
    private static let proxied = """
            # listen 127.0.0.1:9181 ssl;
            # listen 443 ssl proxy_protocol;
            # listen [::]:443 ssl proxy_protocol;
            # set_real_ip_from 192.0.2.0/24;
            # real_ip_header proxy_protocol;

        """
    private static let exampleBalancer = "192.0.2.0/24"
    private static let stapling = "    ssl_stapling on;\n    ssl_stapling_verify on;\n"

    /// The template does not match this program.
    public struct UnknownTemplate: Error, CustomStringConvertible {
        public var description: String { "the template of nginx's site does not contain the text that setup replaces" }
    }

    /// The whole site, signed, in the form of the template: ``adapted(_:to:)`` converts it for another nginx.
    /// - Parameters:
    ///   - staples: whether the certificate names an OCSP responder; nginx would warn otherwise.
    ///   - balancers: the addresses and networks of load balancers that send the PROXY protocol; empty if there are
    ///     none.
    /// - Throws: ``UnknownTemplate``.
    public static func complete(
        _ template: String, host: String, certificate: SetupAnswers.Certificate, staples: Bool,
        balancers: [String] = []
    ) throws(UnknownTemplate) -> String {
        let files = files(of: certificate, host: host)
        let example = Self.files(of: .letsEncrypt, host: exampleHost)
        guard template.contains(example.certificate), template.contains(example.key), template.contains(stapling),
            template.contains(listeners), template.contains(proxied), form(of: template) == .directive
        else { throw UnknownTemplate() }
        var text = replace(example.certificate, in: template, by: files.certificate)
        text = replace(example.key, in: text, by: files.key)
        if !balancers.isEmpty {
            text = replace(listeners, in: text, by: listeners.replacingLines { "    # " + $0.dropFirst(4) })
            text = replace(proxied, in: text, by: listening(behind: balancers))
        }
        if !staples { text = replace(stapling, in: text, by: stapling.replacingLines { "    # " + $0.dropFirst(4) }) }
        return signed(replace(exampleHost, in: text, by: host))
    }

    private static func listening(behind balancers: [String]) -> String {
        proxied.split(separator: "\n").flatMap { line in
            let directive = "    " + line.dropFirst(6)
            guard directive.contains(exampleBalancer) else { return [directive] }
            return balancers.map { replace(exampleBalancer, in: directive, by: $0) }
        }.map { $0 + "\n" }.joined()
    }

    /// The interim site for obtaining a certificate: plain HTTP only for the authority's challenges, and the page for
    /// this host's monitoring; signed.
    public static func untilThereIsACertificate(host: String) -> String {
        let introduction =
            "# SyncServer's site for \(host) until there is a certificate: run `\(HostedApp.current.command) setup` again then.\n\n"
        return signed(introduction + (HostedApp.current.name == nil ? once : "") + challenge(host: host))
    }

    /// The site of the package's app while only other apps are set up: the parts that they need; signed.
    public static var withoutHost: String {
        signed(
            "# SyncServer, what nginx has once for all apps of this host: `syncctl setup` adds the package's app.\n\n"
                + once)
    }

    private static let once = """
        include syncd/syncd-version.conf;
        include syncd/syncd-exempt.conf;
        include syncd/syncd-http.conf;
        upstream syncd_api {
            server unix:/run/syncd/api.sock;
        }
        include syncd/syncd-metrics.conf;

        """

    /// A working site that also accepts the challenges for another host's certificate; signed.
    public static func adding(challengeFor host: String, to site: String) -> String {
        let text = unsigned(site)
        let block = challenge(host: host)
        return signed(text.contains(block) ? text : text + "\n# Until there is a certificate.\n" + block)
    }

    static func challenge(host: String) -> String {
        """
        server {
            listen 80;
            listen [::]:80;
            server_name \(host);
            server_tokens off;
            access_log off;

            location /.well-known/acme-challenge/ {
                root \(SetupPaths.webroot);
            }
            location / {
                return 400;
            }
        }

        """
    }

    /// The paths of certificate and key.
    public static func files(
        of certificate: SetupAnswers.Certificate, host: String
    ) -> (certificate: String, key: String) {
        switch certificate {
        case .files(let certificate, let key): return (certificate, key)
        case .ownAuthority:
            let folder = SetupPaths.authority(of: host)
            return (folder + "/server.pem", folder + "/server.key")
        case .letsEncrypt:
            let folder = "/etc/letsencrypt/live/\(host)"
            return (folder + "/fullchain.pem", folder + "/privkey.pem")
        }
    }

    private static func replace(_ part: String, in text: String, by other: String) -> String {
        var result = ""
        var rest = text[...]
        while let range = rest.firstRange(of: part) {
            result += rest[..<range.lowerBound]
            result += other
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}

extension String {
    fileprivate func replacingLines(_ change: (Substring) -> String) -> String {
        split(separator: "\n").map { change($0) + "\n" }.joined()
    }
}
