import Foundation
import HTTPTransport
import Operations
import Posix
import Providers
import TestSupport
import Testing

/// An account with its own place on a third-party server behind the sandbox.
struct RealAccount {
    let server: StorageServerProcess.Kind
    var password = "secret-of-the-tests"
    /// The S3 bucket.
    var bucket = S3Bucket.name
    private let place: String

    init(_ server: StorageServerProcess.Kind) throws {
        self.server = server
        place = "trial-\(UInt32.random(in: 0 ... .max))"
        if !isS3 { try StorageServerProcess.of(server).makeFolder(place, password: password) }
    }

    private var isS3: Bool { server == .s3Moto || server == .s3Rclone }

    /// Tries the provider with the account.
    func run(_ deceptions: Deceptions = Deceptions()) throws -> TrialReport {
        let sandbox = try TrialSandbox.server().sandbox
        try sandbox.clearFaults()
        let host = "\(server.rawValue).sandbox.test"
        try sandbox.addBackend(host: host, port: try StorageServerProcess.of(server).port)
        let company = try #require(Company.all.first { $0.name == (isS3 ? "S3" : "WebDAV") })
        let offer = try #require(company.signIn)
        var values = SettingValues()
        for setting in offer.settings where setting.kind == .servers {
            values.set(setting, to: ["https://\(host)/"])
        }
        let account = offer.makeAccount(values, { Date() })
        var subject = ProviderTrial.Subject(
            company: company.name, account: try #require(account), storage: offer.storage?.make(values),
            guide: offer.trial, credentials: credentials(at: "https://\(host)/"),
            transport: deceptions.around(try TrialSandbox.transport()))
        subject.pause = { Pause.sleep(min($0, .milliseconds(100))) }
        return try ProviderTrial(subject, version: "test", isSandbox: true).run()
    }

    private func credentials(at address: String) -> TrialCredentials {
        var credentials = TrialCredentials()
        credentials.accessToken = password
        credentials.details =
            isS3
            ? [
                "address": address, "region": "us-east-1", "bucket": bucket, "accessKeyID": "AKTEST", "prefix": place,
            ]
            : ["address": "\(address)\(place)/", "user": "tester"]
        return credentials
    }

    /// Names of the files in the account's place.
    func files() throws -> [String] {
        if isS3 { return try S3Bucket(server).objects(behind: place + "/").map(\.name) }
        let folder = try StorageServerProcess.of(server).files.appending(path: place)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }
}
