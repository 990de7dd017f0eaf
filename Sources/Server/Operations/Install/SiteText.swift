import OpenSSLCrypto
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
            "# SyncServer's nginx settings for all apps of this host: `syncctl setup` adds the package's app.\n\n"
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

/// The directive that turns on HTTP/2, which depends on nginx's version.
public enum HTTP2Form: Sendable, Equatable {
    /// `http2 on;` in the server's block: since nginx 1.25.1, which warns about the other form at each start and
    /// reload.
    case directive
    /// `listen 443 ssl http2;`: until nginx 1.25.0, which does not support the directive.
    case parameter

    private static let firstWithDirective = [1, 25, 1]

    /// - Parameter version: the output of `nginx -v`, such as `nginx version: nginx/1.22.1`. Without a version in it,
    ///   the form is ``parameter``, which newer releases also accept.
    public init(ofNginx version: String) {
        let name = "nginx/"
        let start = version.firstRange(of: name)?.upperBound ?? version.endIndex
        let numbers = version[start...].prefix { $0.isNumber || $0 == "." }.split(separator: ".").compactMap { Int($0) }
        self = numbers.lexicographicallyPrecedes(Self.firstWithDirective) ? .parameter : .directive
    }
}

/// The template has the form for newer releases; a site has the form for the nginx that reads it.
extension SiteText {
    private static let directive = "    http2 on;               # before nginx 1.25.1: listen 443 ssl http2;"

    /// The form in which a site turns on HTTP/2; `nil` if it does not.
    public static func form(of site: String) -> HTTP2Form? {
        let lines = site.split(separator: "\n")
        if lines.contains(where: isDirective) { return .directive }
        return lines.contains { isListener($0) && !isComment($0) && words($0).contains("http2") } ? .parameter : nil
    }

    /// A site written by setup, converted to another form, and signed if it was signed; the rest stays unchanged.
    public static func adapted(_ site: String, to form: HTTP2Form) -> String {
        let text = unsigned(site)
        let adapted =
            switch form {
            case .directive: withDirective(text)
            case .parameter: withParameter(text)
            }
        return adapted == text ? site : text == site ? adapted : signed(adapted)
    }

    /// Advice for an administrator whose changed site has the other form; setup does not change such a site.
    public static func advice(for form: HTTP2Form) -> String {
        let change =
            switch form {
            case .directive:
                "this nginx warns about `listen ... http2`. Add `http2 on;`, and remove http2 from each `listen`"
            case .parameter:
                "this nginx does not support `http2 on;`. Remove it, and add http2 after ssl in each `listen`"
            }
        return "\(SetupPaths.site) was changed by an administrator and stays unchanged, but \(change), and then run "
            + "`nginx -t && systemctl reload nginx`."
    }

    private static func withDirective(_ text: String) -> String {
        var lines: [Substring] = []
        var lacksDirective = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let hasParameter = isListener(line) && words(line).contains("http2")
            if hasParameter { lacksDirective = true }
            // After the listeners, with or without a load balancer.
            if lacksDirective, words(line).first == "server_name" {
                lines.append(directive[...])
                lacksDirective = false
            }
            lines.append(hasParameter ? line.replacing(" http2", with: "") : line)
        }
        return lines.joined(separator: "\n")
    }

    private static func withParameter(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.contains(where: isDirective) else { return text }
        return lines.filter { !isDirective($0) }.map { line in
            let isPlain = !isListener(line) || !words(line).contains("ssl") || words(line).contains("http2")
            return isPlain ? line : line.replacing(" ssl", with: " ssl http2")
        }.joined(separator: "\n")
    }

    private static func isDirective(_ line: Substring) -> Bool {
        words(line).prefix(2).elementsEqual(["http2", "on;"])
    }

    /// Includes listeners that are commented out, for an operator to enable.
    private static func isListener(_ line: Substring) -> Bool {
        words(line).first { $0 != "#" } == "listen"
    }

    private static func isComment(_ line: Substring) -> Bool { words(line).first?.hasPrefix("#") == true }

    /// Without the semicolons that end directives, except after `on`.
    private static func words(_ line: Substring) -> [Substring] {
        line.split(separator: " ").map { $0.hasSuffix(";") && $0 != "on;" ? $0.dropLast() : $0 }
    }
}

/// Setup recognises its own sites by their first line, which contains the digest of all other lines: it never
/// overwrites a site that a person has changed.
extension SiteText {
    private static let signature = SignedText(by: "syncctl setup")

    static func signed(_ text: String) -> String { signature.sign(text) }

    /// The site without the first line that setup wrote.
    static func unsigned(_ site: String) -> String { signature.unsigned(site) }

    /// Whether a site is unchanged since setup wrote it.
    public static func isUnchanged(_ site: String, template: String) -> Bool {
        let text = unsigned(site)
        if text != site { return site == signed(text) }
        // Earlier releases did not sign: regenerate their text to compare it.
        let present = SitePresence(site)
        guard let host = present.host else { return false }
        if site == earlierInterim(host: host) { return true }
        guard let certificate = present.certificate else { return false }
        return [true, false].contains { staples in
            (try? complete(
                template, host: host, certificate: certificate, staples: staples, balancers: present.balancers)).map {
                    unsigned(adapted($0, to: .parameter))
                } == site
        }
    }

    /// The site that earlier releases wrote until a certificate existed.
    static func earlierInterim(host: String) -> String {
        """
        # SyncServer's site for \(host) until there is a certificate; made by `syncctl setup`, which is to be run again
        # then and replaces it, unless it was changed.

        """ + challenge(host: host)
    }
}

/// Texts whose first line, a comment, contains the digest of all other lines, to detect changes by a person.
struct SignedText {
    private let mark: String

    /// - Parameter command: the command that writes the texts.
    init(by command: String) {
        mark = "# `\(command)` wrote this and replaces it, unless it was changed. SHA-256 of all else: "
    }

    func sign(_ text: String) -> String {
        mark + IncrementalDigest.digest(of: Array(text.utf8), .sha256).hexLowercase + "\n" + text
    }

    /// The text without its signature, if it has one.
    func unsigned(_ text: String) -> String {
        guard text.hasPrefix(mark), let end = text.utf8.firstIndex(of: UInt8(ascii: "\n")) else { return text }
        return String(text[text.utf8.index(after: end)...])
    }

    /// Whether it is unchanged since it was signed.
    func isUnchanged(_ text: String) -> Bool { text.hasPrefix(mark) && sign(unsigned(text)) == text }
}
