import Foundation
import HTTPTransport
import HTTPTypes
import Operations
import Providers
import SyncProtocol
import TestSupport
import Testing

extension TrialTests {
    @Suite("Providers without faults")
    struct HealthyProviderTests {
        @Test(
            "A healthy provider has no findings, and nothing is left in its storage",
            arguments: [SandboxProvider.google, .dropbox, .microsoft, .webdav])
        func healthy(provider: SandboxProvider) throws {
            let person = try TrialPerson(provider)
            let sandbox = try TrialSandbox.server().sandbox
            try sandbox.clearViolations()

            let report = try person.run()

            #expect(report.outcome == .passed, "\(report.text)")
            for step in ["identity", "forgery", "smallUpload", "largeUpload", "resumedDownload", "rename", "deletion"] {
                #expect(report[step]?.result == .passed, "\(report.text)")
            }
            #expect(report["largeUpload"]?.came.contains("second part's connection broke") == true)
            #expect(try person.files() == [])
            let violations = try sandbox.violations()
            #expect(violations == [], "\(violations)")
        }

        @Test(
            "A step that a provider does not offer is reported as such",
            arguments: [
                (SandboxProvider.microsoft, "revocation"), (.dropbox, "audience"), (.webdav, "registration"),
                (.webdav, "renewal"),
            ])
        func notOffered(provider: SandboxProvider, step: String) throws {
            #expect(try TrialPerson(provider).run()[step]?.result == .notOffered)
        }

        @Test("An account without storage is tried as far as possible")
        func signInOnly() throws {
            let report = try TrialPerson(.facebook).run()

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["audience"]?.result == .passed)
            #expect(report["smallUpload"] == nil)
        }

        @Test(
            "A code from the provider's own page is enough",
            arguments: [
                (SandboxProvider.google, "http://127.0.0.1:53682/server"),
                (.dropbox, "http://127.0.0.1:53682/server"), (.microsoft, "http://localhost/server"),
            ])
        func codeAlone(provider: SandboxProvider, redirectURI: String) throws {
            var person = try TrialPerson(provider)
            let consent = try #require(person.offer.trial.consent)
            person.credentials = TrialCredentials()
            person.credentials.redirectURI = redirectURI
            person.credentials.authorizationCode = try Consent.code(
                at: consent.url(person.values, redirectURI: redirectURI), as: person.account)

            let report = try person.run()

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["code"]?.result == .passed)
            #expect(report["largeUpload"]?.result == .passed)
        }

        @Test("A grant that must be kept is not revoked")
        func keptGrant() throws {
            let person = try TrialPerson(.google)
            var subject = try person.subject()
            subject.keepsGrant = true

            let report = try ProviderTrial(subject, version: "test", isSandbox: true).run()

            #expect(report.outcome == .passed)
            #expect(report["revocation"]?.result == .notTried)
            #expect(try TrialSandbox.server().sandbox.account(person.account.id).refreshToken != nil)
        }

        @Test("A user's own password, which Nextcloud does not revoke, is not a failure")
        func ownPassword() throws {
            let person = try TrialPerson(.webdav)
            let sandbox = try TrialSandbox.server().sandbox
            try sandbox.inject(
                SandboxFault(
                    host: "nextcloud.sandbox.test", pathPrefix: "/ocs/v2.php/core/apppassword", method: "DELETE",
                    status: 403))

            let report = try person.run()
            try sandbox.clearFaults()

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["revocation"]?.result == .notOffered)
            #expect(report["revocation"]?.came.contains("only app passwords") == true)
            #expect(report["revoked"]?.result == .notTried)
        }

        @Test("An interrupted trial cleans up, and reports it")
        func interrupted() throws {
            let person = try TrialPerson(.google)
            let interruption = Interruption()

            let report = try ProviderTrial(
                try person.subject(), version: "test", isSandbox: true, interruption: interruption,
                progress: { step in if step == "largeUpload" { interruption.request() } }
            ).run()

            #expect(report.outcome == .interrupted)
            #expect(report["largeUpload"]?.result == .notTried)
            #expect(report["cleanup"]?.result == .passed, "\(report.text)")
            #expect(report["revocation"]?.result == .notTried)
            #expect(try person.files() == [])
        }

        @Test("Remains of an earlier trial are deleted, and other files are kept")
        func leftovers() throws {
            let person = try TrialPerson(.dropbox)
            let sandbox = try TrialSandbox.server().sandbox
            try sandbox.store([1, 2, 3], as: "syncserver-try-0badcafe-large.bin", in: person.account)
            try sandbox.store([1, 2, 3], as: "mine.txt", in: person.account)

            let report = try person.run()

            #expect(report["storage"]?.came.contains("1 objects of an earlier trial") == true, "\(report.text)")
            #expect(try person.files() == ["mine.txt"])
        }
    }
}

/// The sandbox's consent pages, whose form needs no scripts.
enum Consent {
    /// The code to which the page redirects when the account's user consents.
    static func code(at page: String, as account: SandboxAccount) throws -> String {
        let transport = try TrialSandbox.transport()
        let service = try #require(Company.services.first { $0.owns(page) })
        let shown = try transport.send(
            OutgoingRequest(service, .identity, .get, page), by: .after(.seconds(20)))
        let text = String(decoding: shown.body, as: UTF8.self)
        let action = try #require(text.firstMatch(of: /<form method=post action="([^"]*)">/)?.1, "\(text)")
        let target = String(action).replacing("&amp;", with: "&").replacing("&#39;", with: "'")
        let address = try #require(URL(string: target, relativeTo: URL(string: page))?.absoluteString)
        let reply = try transport.send(
            .form(service, .identity, address, [("account", account.id), ("decision", "allow")]),
            by: .after(.seconds(20)))
        let location = try #require(reply.head.headers[.location].flatMap { URLComponents(string: $0) })
        return try #require(location.queryItems?.first { $0.name == "code" }?.value)
    }
}
