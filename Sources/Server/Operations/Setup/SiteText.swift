/// nginx's site for one host, generated from the template that the package installs.
public enum SiteText {
    private static let exampleHost = "sync.example.com"
    private static let stapling = "    ssl_stapling on;\n    ssl_stapling_verify on;\n"

    /// The template is not the one that this program knows.
    public struct UnknownTemplate: Error, CustomStringConvertible {
        public var description: String { "the template of nginx's site lacks what setup replaces in it" }
    }

    /// The whole site, signed.
    /// - Parameter staples: whether the certificate names an OCSP responder; nginx would warn otherwise.
    /// - Throws: ``UnknownTemplate``.
    public static func complete(
        _ template: String, host: String, certificate: SetupAnswers.Certificate, staples: Bool
    ) throws(UnknownTemplate) -> String {
        let files = files(of: certificate, host: host)
        let example = Self.files(of: .letsEncrypt, host: exampleHost)
        guard template.contains(example.certificate), template.contains(example.key), template.contains(stapling) else {
            throw UnknownTemplate()
        }
        var text = replace(example.certificate, in: template, by: files.certificate)
        text = replace(example.key, in: text, by: files.key)
        if !staples { text = replace(stapling, in: text, by: stapling.replacingLines { "    # " + $0.dropFirst(4) }) }
        return signed(replace(exampleHost, in: text, by: host))
    }

    /// What is needed to get a certificate, plain HTTP for the authority's challenges only, and what this host's own
    /// monitoring asks; signed.
    public static func untilThereIsACertificate(host: String) -> String {
        signed(
            """
            # SyncServer's site for \(host) until there is a certificate: run `syncctl setup` again then.

            include syncd/syncd-version.conf;
            include syncd/syncd-exempt.conf;
            include syncd/syncd-http.conf;
            upstream syncd_api {
                server unix:/run/syncd/api.sock;
            }
            include syncd/syncd-metrics.conf;

            """ + challenge(host: host))
    }

    /// A site that works, and takes the challenges for another host's certificate as well; signed.
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

    /// Where certificate and key are.
    public static func files(
        of certificate: SetupAnswers.Certificate, host: String
    ) -> (certificate: String, key: String) {
        switch certificate {
        case .files(let certificate, let key): return (certificate, key)
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
