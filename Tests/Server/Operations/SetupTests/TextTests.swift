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

    @Test("The site has the host's name and certificate, and nothing of the example")
    func site() throws {
        let text = try SiteText.complete(
            template, host: "a.example.org", certificate: .files(certificate: "/c.pem", key: "/k.pem"), staples: true)

        #expect(!text.contains("sync.example.com"))
        #expect(text.contains("ssl_certificate /c.pem;") && text.contains("ssl_certificate_key /k.pem;"))
        #expect(text.contains("server_name a.example.org;"))
        #expect(text.contains("\n    ssl_stapling on;"))
    }

    @Test("Stapling is left out for a certificate that names no responder")
    func stapling() throws {
        let text = try SiteText.complete(
            template, host: "a.example.org", certificate: .letsEncrypt, staples: false)

        #expect(text.contains("ssl_certificate /etc/letsencrypt/live/a.example.org/fullchain.pem;"))
        #expect(text.contains("\n    # ssl_stapling on;\n    # ssl_stapling_verify on;\n"))
    }

    @Test("Until there is a certificate, the site has challenges and this host's own monitoring, and nothing else")
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

    @Test("Host and certificate of last time are read from the site", arguments: [true, false])
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
