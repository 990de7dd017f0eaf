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
