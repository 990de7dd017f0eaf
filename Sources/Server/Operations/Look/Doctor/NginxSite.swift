import Store

/// The parts of nginx's configuration about this server that a diagnosis needs.
public struct NginxSite: Equatable, Sendable {
    /// An address on which nginx accepts connections.
    public struct Listener: Equatable, Sendable {
        /// For a connection from this host, such as `127.0.0.1:443`.
        public var address: String
        public var isSecure: Bool
        /// Whether a connection must begin with the PROXY protocol.
        public var isProxied = false
    }

    /// The files of a certificate and its key.
    public struct Certificate: Hashable, Sendable {
        public var certificate: String
        /// `nil` if unknown.
        public var key: String?

        public init(certificate: String, key: String?) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// A `server` block with our locations.
    public struct Server: Equatable, Sendable {
        /// Without wildcards and patterns.
        public var names: [String]
        public var listeners: [Listener]
        public var certificates: [Certificate]
        /// `client_max_body_size` at the location of UploadFile, in bytes; 0 means no limit.
        public var uploadLimitBytes: Int64
    }

    /// The servers that have our locations.
    public var servers: [Server] = []
    /// `worker_connections`, for each of nginx's processes; `nil` if it is not set.
    public var workerConnections: Int?
    /// Names for which nginx serves only a certificate's challenge so far.
    public var challenged: [String] = []
    /// Folders to which nginx writes requests, replies and logs, if its configuration names them.
    public var places: [DiskCheck.Place] = []
    /// The user that nginx's processes run as if root starts them; `nil` if it is not set.
    public var user: String?

    /// nginx's default of `client_max_body_size`.
    private static let standardBodyBytes: Int64 = 1 << 20

    /// Nothing.
    public init() {}

    init(_ files: NginxFiles) {
        let directives = NginxDirective.read(files)
        user = directives.value("user")
        workerConnections = directives.filter { $0.name == "events" }.flatMap(\.block).value("worker_connections")
            .flatMap { Int($0) }
        for http in directives where http.name == "http" {
            for server in http.block where server.name == "server" {
                if let server = Self.server(server.block, in: http.block, files.folder) { servers.append(server) }
            }
            // Our upstream exists as soon as our site does; other apps' names have their certificates.
            let upstream = AppText().nginx("syncd_api")
            guard http.block.contains(where: { $0.words == ["upstream", upstream] }) else { continue }
            let blocks = http.block.filter { $0.name == "server" }
            func isChallenged(_ server: NginxDirective) -> Bool {
                server.block.anywhere("location").contains { $0.parameters.contains("/.well-known/acme-challenge/") }
            }
            func names(_ servers: [NginxDirective]) -> [String] {
                servers.flatMap { $0.block.all("server_name").flatMap(\.self) }
            }
            let served = blocks.filter { server in
                !isChallenged(server) && server.block.all("listen").contains { $0.contains("ssl") }
            }
            challenged += Set(names(blocks.filter(isChallenged))).subtracting(names(served)).sorted()
        }
        places = Self.places(directives)
    }

    private static func places(_ directives: [NginxDirective]) -> [DiskCheck.Place] {
        func folders(_ name: String, isFile: Bool) -> [String] {
            directives.anywhere(name).compactMap(\.parameters.first).filter { $0.hasPrefix("/") && !$0.contains("$") }
                .map { path in
                    isFile ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) : path
                }
        }
        let temporary = ["client_body_temp_path", "fastcgi_temp_path", "proxy_temp_path"].flatMap {
            folders($0, isFile: false)
        }
        let logs = ["access_log", "error_log"].flatMap { folders($0, isFile: true) }
        return Set(temporary).sorted().map { DiskCheck.Place($0, .requests) }
            + Set(logs).sorted().filter { !$0.isEmpty }.map { DiskCheck.Place($0, .logs) }
    }

    /// Reads `nginx.conf` of a folder, usually `/etc/nginx`, with all included files.
    public static func read(folder: String) -> NginxSite { NginxSite(NginxFiles(folder: folder)) }

    private static func server(
        _ block: [NginxDirective], in http: [NginxDirective], _ folder: String
    ) -> Server? {
        let upload = block.anywhere("location").first { location in
            location.parameters.contains { $0.contains("UploadFile") } && !location.block.all("fastcgi_pass").isEmpty
        }
        guard let upload, upload.block.all("fastcgi_pass").contains(where: { isOwn($0.first) }) else { return nil }
        let size = [upload.block, block, http].lazy.compactMap { $0.value("client_max_body_size") }.first
        let names = block.all("server_name").flatMap(\.self).filter { name in
            !name.isEmpty && !name.contains { "*~$_".contains($0) } && !name.hasPrefix(".")
        }
        return Server(
            names: names, listeners: block.all("listen").compactMap(listener),
            certificates: certificates(block, http, folder),
            uploadLimitBytes: size.flatMap(bytes) ?? standardBodyBytes)
    }

    /// Whether an upstream belongs to this app: upstreams of an added app contain its name.
    private static func isOwn(_ upstream: String?) -> Bool {
        let name = AppText().nginx("syncd_transfer")
        let ofOthers = AppFiles.added().map { AppText($0).nginx("syncd_transfer") }.filter { $0 != name }
        return HostedApp.current.name == nil ? !ofOthers.contains(upstream ?? "") : upstream == name
    }

    /// The certificates of the server or, if it has none, those for all servers. Paths that depend on the request are
    /// skipped.
    private static func certificates(
        _ block: [NginxDirective], _ http: [NginxDirective], _ folder: String
    ) -> [Certificate] {
        guard let level = [block, http].first(where: { !$0.all("ssl_certificate").isEmpty }) else { return [] }
        let paths = { (name: String) in level.all(name).compactMap(\.first) }
        return zip(paths("ssl_certificate"), paths("ssl_certificate_key")).filter { certificate, key in
            !(certificate + key).contains("$") && !certificate.hasPrefix("data:") && !key.hasPrefix("data:")
                && !key.hasPrefix("engine:")
        }.map { certificate, key in
            Certificate(
                certificate: certificate.hasPrefix("/") ? certificate : "\(folder)/\(certificate)",
                key: key.hasPrefix("/") ? key : "\(folder)/\(key)")
        }
    }

    /// `nil` for unix sockets.
    private static func listener(_ parameters: ArraySlice<String>) -> Listener? {
        guard let place = parameters.first, !place.hasPrefix("unix:") else { return nil }
        let isSecure = parameters.contains("ssl")
        let isProxied = parameters.contains("proxy_protocol")
        if let port = Int(place) {
            return Listener(address: "127.0.0.1:\(port)", isSecure: isSecure, isProxied: isProxied)
        }
        let colon = place.hasSuffix("]") ? nil : place.lastIndex(of: ":")
        let host = colon.map { String(place[..<$0]) } ?? place
        let port = colon.map { String(place[place.index(after: $0)...]) } ?? "80"
        let own = ["*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"]
        return Listener(address: "\(own[host] ?? host):\(port)", isSecure: isSecure, isProxied: isProxied)
    }

    /// A size in nginx's notation: bytes, or with `k`, `m` or `g` (nginx, "Configuration file measurement units").
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
