import Posix

/// What nginx's configuration says about this server; only as much as a diagnosis needs.
public struct NginxSite: Equatable, Sendable {
    /// `client_max_body_size` at the location of UploadFile, in bytes; 0 means no limit, `nil` that it is not there.
    public var uploadLimitBytes: Int64?
    /// `worker_connections`, for each of nginx's processes; `nil` if nothing is said about it.
    public var workerConnections: Int?
    public var certificates: [String] = []
    public var serverNames: [String] = []

    /// Reads the texts of configuration files.
    public init(_ text: String) {
        // How many braces are open, and at which number of them the location of UploadFile ends.
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

    /// Reads all files below a folder, except disabled sites.
    public static func read(folder: String) -> NginxSite {
        var text = ""
        for part in ["", "conf.d", "sites-enabled", "snippets", "syncd"] {
            let path = part.isEmpty ? folder : "\(folder)/\(part)"
            for name in (try? Directory.names(in: path)) ?? [] {
                guard let bytes = try? TextFile.read("\(path)/\(name)") else { continue }
                text += String(decoding: bytes, as: UTF8.self) + "\n"
            }
        }
        return NginxSite(text)
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
