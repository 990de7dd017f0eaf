import Foundation
import TestSupport
import Testing

@testable import Operations

@Suite("nginx's configuration, as doctor reads it")
struct NginxSiteTests {
    /// The output of `nginx -T` for one file.
    private func site(_ text: String) -> NginxSite {
        NginxSite(NginxFiles(dump: "# configuration file /etc/nginx/nginx.conf:\n\(text)\n"))
    }

    private func location(_ statements: String) -> String {
        "location ~ ^/UploadFile/?$ { \(statements) fastcgi_pass syncd_transfer; }"
    }

    @Test("nginx's limit for UploadFile is used, not that of other locations")
    func uploadLimit() {
        let site = site(
            """
            http {
                server {
                    server_name sync.example.org www.example.org; # not this.example.org
                    listen 443 ssl http2;
                    listen [::]:443 ssl;
                    ssl_certificate /etc/letsencrypt/live/x/fullchain.pem;
                    ssl_certificate_key "/etc/letsencrypt/live/x/privkey.pem";
                    client_max_body_size 1k;
                    location / { client_max_body_size 64k; }
                    location ~ ^/UploadFile/?$ {
                        # client_max_body_size 7;
                        if ($syncd_request_too_long) { return 414; }
                        client_max_body_size 5g;   # maximumUploadBytes
                        fastcgi_pass syncd_transfer;
                    }
                    location ~ ^/DownloadFile/?$ { client_max_body_size 64k; }
                }
            }
            """)

        #expect(site.servers.map(\.uploadLimitBytes) == [5 << 30])
        #expect(site.servers.first?.names == ["sync.example.org", "www.example.org"])
        #expect(
            site.servers.first?.certificates == [
                NginxSite.Certificate(
                    certificate: "/etc/letsencrypt/live/x/fullchain.pem", key: "/etc/letsencrypt/live/x/privkey.pem")
            ])
        #expect(
            site.servers.first?.listeners == [
                NginxSite.Listener(address: "127.0.0.1:443", isSecure: true),
                NginxSite.Listener(address: "[::1]:443", isSecure: true),
            ])
        #expect(NginxCheck.uploadLimit(site, maximumUploadBytes: 5 << 30).map(\.code) == [nil])
        #expect(NginxCheck.uploadLimit(site, maximumUploadBytes: 5 << 30 + 1).map(\.code) == [.uploadLimitTooSmall])
    }

    @Test("A location without its own limit inherits the surrounding one, or nginx's default")
    func inheritedLimit() {
        let statements = ["", "client_max_body_size 3m;", "client_max_body_size 0;"]
        let limits = statements.map { statement in
            site("http { server { \(statement) \(location("")) } }").servers.first?.uploadLimitBytes
        }
        #expect(limits == [1 << 20, 3 << 20, 0])
        let unlimited = site("http { server { client_max_body_size 0; \(location("")) } }")
        #expect(NginxCheck.uploadLimit(unlimited, maximumUploadBytes: .max).map(\.code) == [nil])
    }

    @Test("Only the certificates of servers with our locations count")
    func otherServers() {
        let site = site(
            """
            http {
                map $host $x { "~^UploadFile" "a;b{c}"; default ''; }
                server { listen 443 ssl default_server; ssl_certificate /etc/ssl/certs/ssl-cert-snakeoil.pem;
                         ssl_certificate_key /etc/ssl/private/ssl-cert-snakeoil.key; return 444; }
                server { listen 443 ssl; server_name ${name} *.example.org ~^x$ _ sync.example.org;
                         ssl_certificate certificates/own.pem; ssl_certificate_key certificates/own.key;
                         \(location("")) }
            }
            """)

        #expect(site.servers.map(\.names) == [["sync.example.org"]])
        #expect(site.servers.first?.certificates.map(\.certificate) == ["/etc/nginx/certificates/own.pem"])
    }

    @Test("A name has no certificate if no server block with TLS has the name, including names of other apps")
    func challenged() {
        let challenge = "location /.well-known/acme-challenge/ { root /var/www/html; }"
        let site = site(
            """
            http {
                upstream syncd_api { server unix:/run/syncd/api.sock; }
                server { listen 80; server_name first.example.org; \(challenge) }
                server { listen 443 ssl; server_name first.example.org; }
                server { listen 80; server_name second.example.org; \(challenge) }
            }
            """)
        #expect(site.challenged == ["second.example.org"])
        #expect(self.site("http { server { listen 80; server_name x; \(challenge) } }").challenged == [])
    }

    @Test("The connection limit of Debian's nginx is too low", arguments: [(768, true), (4_096, false)])
    func connections(number: Int, isNoted: Bool) {
        let text = """
            worker_processes auto;
            events { worker_connections \(number); }
            http {
                # worker_connections 1;
            }
            """
        let onLines = "events {\n\tworker_connections \(number);\n\t# multi_accept on;\n}"
        for text in [text, onLines] {
            let codes = NginxCheck.connections(site(text), least: 4_096).map(\.code)
            #expect(codes == [isNoted ? .connectionsFew : nil])
        }
        #expect(NginxCheck.connections(site(""), least: 4_096) == [])
    }

    @Test("Reading ends for texts that are truncated or include themselves")
    func endless() {
        #expect(site("http { server { listen \"443").servers == [])
        #expect(site("include /etc/nginx/nginx.conf; events { worker_connections 5; }").workerConnections == 5)
        #expect(site("}}} ; { \\").servers == [])
    }

    /// The site read from a host's nginx folder below a separate root.
    private func site(_ files: [String: String]) throws -> NginxSite {
        let scratch = try ScratchFolder("nginx")
        let folder = scratch.url.appending(path: "etc/nginx")
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return withExtendedLifetime(scratch) { NginxSite.read(folder: folder.path) }
    }

    @Test("The shipped site is understood")
    func shippedSite() throws {
        let locations = try String(contentsOfFile: "nginx/syncd-locations.conf", encoding: .utf8)
        let site = try site([
            "nginx.conf": "http {\n include /etc/nginx/sites-enabled/*;\n}",
            "sites-enabled/syncserver": "server {\n include syncd/syncd-locations.conf;\n}",
            "syncd/syncd-locations.conf": locations,
        ])
        #expect(site.servers.map(\.uploadLimitBytes) == [5_368_709_120])
    }

    @Test("Files that nginx does not include are ignored: copies, disabled sites, hidden files")
    func notIncluded() throws {
        func server(_ name: String) -> String { "server { server_name \(name).example.org; \(location("")) }" }
        let site = try site([
            "nginx.conf": "events { worker_connections 4096; }\nhttp { include conf.d/*.conf; # include old;\n}",
            "nginx.conf.dpkg-old": "events { worker_connections 1; }", "old": "events { worker_connections 2; }",
            "conf.d/a.conf": server("a") + " include conf.d/a.conf;", "conf.d/b.conf.dpkg-dist": server("b"),
            "conf.d/.c.conf": server("c"), "sites-available/d": server("d"),
        ])
        #expect(site.workerConnections == 4_096)
        #expect(Set(site.servers.flatMap(\.names)) == ["a.example.org"])
    }
}
