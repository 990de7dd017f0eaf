import Foundation
import TestSupport
import Testing

@testable import Operations

@Suite("Files written by setup")
struct TextTests {
    private let template: String

    init() throws {
        template = try String(
            contentsOf: PrivateStack.repository.appending(path: "nginx/syncd.conf"), encoding: .utf8)
    }

    @Test("The site has the host's name and certificate, and none of the example's")
    func site() throws {
        let text = try SiteText.complete(
            template, host: "a.example.org", certificate: .files(certificate: "/c.pem", key: "/k.pem"), staples: true)

        #expect(!text.contains("sync.example.com"))
        #expect(text.contains("ssl_certificate /c.pem;") && text.contains("ssl_certificate_key /k.pem;"))
        #expect(text.contains("server_name a.example.org;"))
        #expect(text.contains("\n    ssl_stapling on;"))
    }

    @Test("Stapling is omitted for a certificate that names no responder")
    func stapling() throws {
        let text = try SiteText.complete(
            template, host: "a.example.org", certificate: .letsEncrypt, staples: false)

        #expect(text.contains("ssl_certificate /etc/letsencrypt/live/a.example.org/fullchain.pem;"))
        #expect(text.contains("\n    # ssl_stapling on;\n    # ssl_stapling_verify on;\n"))
    }

    @Test("Behind load balancers the site accepts the PROXY protocol from them, and this host's own checks without it")
    func balancers() throws {
        let text = try SiteText.complete(
            template, host: "a.example.org", certificate: .letsEncrypt, staples: true,
            balancers: ["10.0.0.0/8", "2001:db8::7"])

        #expect(
            text.contains(
                """

                    listen 127.0.0.1:9181 ssl;
                    listen 443 ssl proxy_protocol;
                    listen [::]:443 ssl proxy_protocol;
                    set_real_ip_from 10.0.0.0/8;
                    set_real_ip_from 2001:db8::7;
                    real_ip_header proxy_protocol;
                    http2 on;
                """))
        #expect(text.contains("\n    # listen 443 ssl;\n    # listen [::]:443 ssl;\n"))
        #expect(SitePresence(text).balancers == ["10.0.0.0/8", "2001:db8::7"])
        #expect(SiteText.isUnchanged(text, template: template))
        let usual = try SiteText.complete(template, host: "a.example.org", certificate: .letsEncrypt, staples: true)
        #expect(SitePresence(usual).balancers == [])
    }

    @Test(
        "nginx's version decides the HTTP/2 directive; an unknown version gets the form that all releases accept",
        arguments: [
            ("nginx version: nginx/1.22.1\n", HTTP2Form.parameter), ("nginx version: nginx/1.25.0", .parameter),
            ("nginx version: nginx/1.25.1", .directive), ("nginx version: nginx/1.26.3 (Debian)\n", .directive),
            ("nginx version: nginx/2.0", .directive), ("nginx version: openresty/1.21.4.1", .parameter),
            ("", .parameter),
        ])
    func nginxVersion(text: String, form: HTTP2Form) {
        #expect(HTTP2Form(ofNginx: text) == form)
    }

    @Test(
        "A site has the form of the installed nginx, stays signed, and can be converted to the other form and back",
        arguments: [[], ["192.0.2.0/24"]])
    func http2(balancers: [String]) throws {
        let site = try SiteText.complete(
            template, host: "a.example.org", certificate: .letsEncrypt, staples: false, balancers: balancers)

        let older = SiteText.adapted(site, to: .parameter)

        #expect(SiteText.form(of: site) == .directive && SiteText.form(of: older) == .parameter)
        #expect(!older.contains("http2 on"))
        #expect(
            older.contains("listen 443 ssl http2;\n") && older.contains("listen [::]:443 ssl http2 proxy_protocol;\n"))
        #expect(SiteText.isUnchanged(older, template: template))
        #expect(SiteText.adapted(older, to: .directive) == site)
        #expect(SiteText.adapted(older, to: .parameter) == older && SiteText.adapted(site, to: .directive) == site)
        #expect(SitePresence(older) == SitePresence(site))
        #expect(!SiteText.isUnchanged(SiteText.adapted(older + "# mine\n", to: .parameter), template: template))
        #expect(SiteText.form(of: SiteText.untilThereIsACertificate(host: "a.example.org")) == nil)
    }

    @Test("Without a certificate, the site has only challenges and this host's own monitoring")
    func interim() throws {
        let text = SiteText.untilThereIsACertificate(host: "a.example.org")
        let site = SitePresence(text)

        #expect(site.host == "a.example.org" && site.certificate == nil && site.isMonitored)
        #expect(!text.contains("443") && !text.contains("syncd-locations"))
        #expect(SiteText.isUnchanged(text, template: template))
        #expect(!SiteText.isUnchanged(text.replacing("return 400", with: "return 404"), template: template))
        #expect(
            !SitePresence(text.replacing("include syncd/syncd-metrics", with: "# include syncd/syncd-metrics"))
                .isMonitored)
    }

    @Test("Host and certificate of the previous run are read from the site", arguments: [true, false])
    func presence(isLetsEncrypt: Bool) throws {
        let certificate: SetupAnswers.Certificate =
            isLetsEncrypt ? .letsEncrypt : .files(certificate: "/c.pem", key: "/k.pem")
        let text = try SiteText.complete(template, host: "a.example.org", certificate: certificate, staples: true)

        #expect(SitePresence(text).host == "a.example.org")
        #expect(SitePresence(text).certificate == certificate)
        #expect(SitePresence("").host == nil)
    }

    @Test("A template without the expected placeholders is rejected")
    func unknownTemplate() {
        #expect(throws: SiteText.UnknownTemplate.self) {
            try SiteText.complete("server {}", host: "a.b", certificate: .letsEncrypt, staples: true)
        }
    }

    @Test("For any answers, the configuration is JSON that contains them")
    func configuration() throws {
        var answers = SetupAnswers()
        answers.settings["GoogleServerClientId"] = .text("q\"\\\u{1}\nä")
        answers.settings["googleClientIds"] = .list(["one", "two"])
        answers.database = .tcp(host: "db.example.org", port: 3_307)

        let root = try #require(
            try JSONSerialization.jsonObject(with: Data(ConfigurationText.make(answers).utf8)) as? [String: Any])

        #expect(root["GoogleServerClientId"] as? String == "q\"\\\u{1}\nä")
        #expect(root["googleClientIds"] as? [String] == ["one", "two"])
        #expect((root["database"] as? [String: Any])?["port"] as? Int == 3_307)
        #expect((root["metrics"] as? [String: Any])?["directory"] as? String == "/run/syncd/metrics")
    }
}
