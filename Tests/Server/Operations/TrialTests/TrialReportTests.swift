import Foundation
import HTTPTransport
import Operations
import Providers
import SyncProtocol
import TestSupport
import Testing

extension TrialTests {
    @Suite("Reports of trials")
    struct TrialReportTests {
        /// Providers whose error codes repeat what they received.
        private static func repeating(_ person: TrialPerson) -> Deceptions {
            let token = person.credentials.accessToken.prefix(60)
            return Deceptions { request in
                switch request.call.operation {
                case .refresh, .revoke: .saying(Reply(400, #"{"error": "\#(token)"}"#))
                case .delete:
                    .saying(Reply(403, #"{"error": {"code": "\#(token)", "errors": [{"reason": "\#(token)"}]}}"#))
                default: .none
                }
            }
        }

        @Test(
            "No reply brings a token, code, secret, name, address or identifier into a report",
            arguments: [SandboxProvider.google, .dropbox, .microsoft, .webdav, .facebook], [false, true])
        func secrets(provider: SandboxProvider, repeats: Bool) throws {
            let person = try TrialPerson(provider)
            let sandbox = try TrialSandbox.server().sandbox
            let before = try sandbox.lastRequest()
            var subject = try person.subject(repeats ? Self.repeating(person) : Deceptions())
            let secrets = person.offer.settings.filter(\.isSecret).compactMap { person.values.secret($0)?.value }
            subject.confidential = secrets

            let report = try ProviderTrial(subject, version: "test", isSandbox: true).run()

            let text = try report.text + report.json()
            let issued = try sandbox.issuedTokens()
            #expect(!issued.isEmpty)
            let address = try sandbox.emailAddress(of: person.account)
            let names = [TrialPerson.name, address, person.account.id, person.credentials.accessToken]
            for secret in issued + secrets + names where !secret.isEmpty {
                #expect(!text.contains(secret), "\(secret) in \(text)")
                // Nor most of a long one.
                if secret.count > 30 { #expect(!text.contains(secret.prefix(24)), "\(secret) in \(text)") }
            }
            #expect(!text.contains("@"))
            // Nor the name or identifier of any object.
            for request in try sandbox.requests(since: before) {
                for segment in (request.path?.text ?? "").split(separator: "/") where segment.count > 25 {
                    #expect(!text.contains(segment), "\(segment) in \(text)")
                }
            }
        }

        @Test("A provider's text for people, with an address in it, is omitted")
        func textForPeople() throws {
            let person = try TrialPerson(.google)
            let report = try person.run(
                Deceptions { request in
                    request.call.operation == .refresh
                        ? .saying(Reply(400, #"{"error": "account bob@example.com of Müller is closed"}"#)) : .none
                })

            #expect(report["registration"]?.came.contains("closed") == true)
            #expect(!report.text.contains("bob") && !report.text.contains("Müller"))
        }

        @Test("docs/operations.md describes each step")
        func documented() throws {
            let page = try String(
                contentsOf: PrivateStack.repository.appending(path: "docs/operations.md"), encoding: .utf8)
            let steps = try TrialPerson(.google).run().steps.map(\.step) + ["code"]

            #expect(steps.filter { !page.contains("`\($0)`") } == [])
        }

        @Test("The report lists each step once, with the expected and the actual result")
        func form() throws {
            let report = try TrialPerson(.google).run()

            #expect(Set(report.steps.map(\.step)).count == report.steps.count)
            #expect(report.steps.allSatisfy { !$0.expected.isEmpty && !$0.came.isEmpty })
            let json = try #require(JSONValue(Array(try report.json().utf8)))
            #expect(json.outcome?.text == "passed" && json.provider?.text == "Google")
            #expect(json.steps?.array?.first?.step?.text == "registration")
        }
    }

    @Suite("Credentials of trials")
    struct TrialCredentialsTests {
        @Test(
            "An unusable file is rejected with a sentence that quotes none of it",
            arguments: [
                ("secret", "must be a JSON object"), (#"{"accessToken": 17}"#, "must be a JSON object"),
                (#"{"token": "secret"}"#, "has the unknown member token"), ("{}", "contains neither"),
                (#"{"details": {"user": "secret"}}"#, "contains neither"),
            ])
        func unusable(json: String, words: String) {
            #expect {
                try TrialCredentials(json: Array(json.utf8))
            } throws: { error in
                let text = (error as? TrialCredentials.Unusable)?.text ?? ""
                return text.contains(words) && !text.contains("secret")
            }
        }
    }
}
