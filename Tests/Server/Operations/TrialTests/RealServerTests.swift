import Foundation
import HTTPTransport
import Operations
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

extension TrialTests {
    /// Servers that somebody else has written, behind the sandbox.
    @Suite("Real servers")
    struct RealServerTests {
        /// A trial of an account at such a server.
        private static func run(
            _ word: String, _ server: StorageServerProcess.Kind, password: String = "secret-of-the-tests",
            _ details: (_ address: String) -> [String: String]
        ) throws -> TrialReport {
            let sandbox = try TrialSandbox.server().sandbox
            try sandbox.clearFaults()
            let host = "\(server.rawValue).sandbox.test"
            try sandbox.addBackend(host: host, port: try StorageServerProcess.of(server).port)
            let company = try #require(Company.all.first { $0.name.lowercased() == word })
            let offer = try #require(company.signIn)
            var values = SettingValues()
            for setting in offer.settings where setting.kind == .servers {
                values.set(setting, to: ["https://\(host)/"])
            }
            var credentials = TrialCredentials()
            credentials.accessToken = password
            credentials.details = details("https://\(host)/")
            let account = offer.makeAccount(values, { Date() })
            let subject = ProviderTrial.Subject(
                company: company.name, account: try #require(account), storage: offer.makeStorage?(values),
                guide: offer.trial,
                credentials: credentials, transport: try TrialSandbox.transport())
            return try ProviderTrial(subject, version: "test", isSandbox: true).run()
        }

        private static func runS3(_ secret: String = "secret-of-the-tests") throws -> TrialReport {
            try run("s3", .s3Rclone, password: secret) { address in
                [
                    "address": address, "region": "us-east-1", "bucket": S3Bucket.name, "accessKeyID": "AKTEST",
                    "prefix": "trials",
                ]
            }
        }

        @Test("An S3 service is tried with an access key, and keeps nothing")
        func s3() throws {
            let report = try Self.runS3()

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["largeUpload"]?.came.contains("second part's connection broke") == true, "\(report.text)")
            #expect(report["range"]?.result == .passed)
            #expect(report["rename"]?.result == .notOffered)
            #expect(try S3Bucket(.s3Rclone).objects(behind: "trials/").isEmpty)
        }

        @Test("A wrong access key is named, without the key")
        func wrongKey() throws {
            let report = try Self.runS3("another-secret-of-the-tests")

            #expect(report.failures == ["identity"], "\(report.text)")
            #expect(report["identity"]?.calls.last?.code == "SignatureDoesNotMatch")
            #expect(!(try report.text + report.json()).contains("AKTEST"))
            #expect(!report.text.contains("another-secret"))
        }

        @Test("On a plain WebDAV server large content is one request, and a renamed file is found by its name")
        func plainWebDAV() throws {
            let files = try StorageServerProcess.of(.rcloneWebDAV).files.appending(path: "trial")
            try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
            try StorageServerProcess.of(.rcloneWebDAV).noticeChanges()

            let report = try Self.run("webdav", .rcloneWebDAV) { address in
                ["address": address + "trial/", "user": "tester"]
            }

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["largeUpload"]?.came.contains("one request") == true)
            #expect(report["rename"]?.came.contains("by its new name only") == true)
            try StorageServerProcess.of(.rcloneWebDAV).noticeChanges()
            #expect(try FileManager.default.contentsOfDirectory(atPath: files.path) == [])
        }
    }
}
