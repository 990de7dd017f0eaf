import Posix

/// What nginx's configuration says about this server, limited to what a diagnosis needs.
public struct NginxSite: Equatable, Sendable {
    /// `client_max_body_size` at the location of UploadFile, in bytes; 0 means no limit, `nil` that it is missing.
    public var uploadLimitBytes: Int64?
    /// `worker_connections`, for each of nginx's processes; `nil` if it is not set.
    public var workerConnections: Int?
    public var certificates: [String] = []
    public var serverNames: [String] = []

    /// Reads the texts of configuration files.
    public init(_ text: String) {
        // The depth of open braces, and the depth at which the location of UploadFile ends.
        var depth = 0
        var end: Int?
        for line in text.split(separator: "\n") {
            let code = line.split(separator: "#", omittingEmptySubsequences: false).first ?? ""
            if code.contains("location"), code.contains("UploadFile") { end = depth }
            for statement in code.split(whereSeparator: { ";{}".contains($0) }) {
                let words = statement.split(whereSeparator: { " \t".contains($0) }).map(String.init)
                guard let directive = words.first else { continue }
                switch directive {
                case "client_max_body_size" where end != nil && words.count > 1:
                    uploadLimitBytes = Self.bytes(words[1])
                case "worker_connections" where words.count > 1: workerConnections = Int(words[1])
                case "ssl_certificate" where words.count > 1: certificates.append(words[1])
                case "server_name": serverNames += words.dropFirst().filter { $0 != "_" && !$0.hasPrefix("$") }
                default: break
                }
            }
            depth += code.count { $0 == "{" } - code.count { $0 == "}" }
            if let closing = end, depth <= closing { end = nil }
        }
    }

    /// Reads `nginx.conf` of a folder, usually `/etc/nginx`, with all that it includes: what nginx itself would read,
    /// and no copies beside it. If the host's root is elsewhere, the folder's path tells where.
    public static func read(folder: String) -> NginxSite {
        let place = "/etc/nginx"
        let root = folder.hasSuffix(place) ? String(folder.dropLast(place.count)) : ""
        return NginxSite(text(of: "\(folder)/nginx.conf", folder, root, depth: 0))
    }

    /// Deeper includes are treated as a loop.
    private static let maximumDepth = 16

    private static func text(of path: String, _ folder: String, _ root: String, depth: Int) -> String {
        guard depth < maximumDepth, let bytes = try? TextFile.read(path) else { return "" }
        var text = ""
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false) {
            text += line + "\n"
            let code = line.split(separator: "#", omittingEmptySubsequences: false).first ?? ""
            for statement in code.split(whereSeparator: { ";{}".contains($0) }) {
                let words = statement.split(whereSeparator: { " \t\"'".contains($0) }).map(String.init)
                guard words.count == 2, words[0] == "include" else { continue }
                let pattern = words[1].hasPrefix("/") ? root + words[1] : "\(folder)/\(words[1])"
                for file in files(matching: pattern) { text += self.text(of: file, folder, root, depth: depth + 1) }
            }
        }
        return text
    }

    /// The files that match a pattern as nginx interprets it, in its order; wildcards in the last part of the path
    /// only.
    private static func files(matching pattern: String) -> [String] {
        guard let slash = pattern.lastIndex(of: "/") else { return [] }
        let (folder, last) = (String(pattern[..<slash]), String(pattern[pattern.index(after: slash)...]))
        guard last.contains(where: { "*?[".contains($0) }) else { return [pattern] }
        let names = (try? Directory.names(in: folder, matching: last)) ?? []
        return names.map { "\(folder)/\($0)" }
    }

    /// A size as nginx writes it: bytes, or with `k`, `m` or `g` (nginx, "Configuration file measurement units").
    static func bytes(_ text: String) -> Int64? {
        guard let last = text.lowercased().last else { return nil }
        switch last {
        case "k": return Int64(text.dropLast()).map { $0 << 10 }
        case "m": return Int64(text.dropLast()).map { $0 << 20 }
        case "g": return Int64(text.dropLast()).map { $0 << 30 }
        default: return Int64(text)
        }
    }
}
