import Curl
import Foundation
import HTTPTransport
import Operations
import Posix
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

/// The sandbox that the trials of this target share, since its faults affect every client.
enum TrialSandbox {
    private static let result = Result { () throws -> TestServer in
        CurlLibrary.initialize()
        return try TestServer(PrivateStack("trial", responders: 1))
    }

    static func server() throws -> TestServer { try result.get() }

    static func transport() throws -> Transport {
        let server = try server()
        let port = try server.environment.value("SANDBOX_TLS_PORT")
        return CurlSenderPool(
            routing: Routing(connectTo: "127.0.0.1:\(port)", caFile: server.certificateAuthorityFile)
        ).transport
    }
}

/// All trials, one at a time.
@Suite("Trials of providers", .serialized)
enum TrialTests {}

/// A user's account in the sandbox, with everything needed to try its provider.
struct TrialPerson {
    static let name = "Alice Confidential"
    let company: Company
    let offer: SignInOffer
    let account: SandboxAccount
    var values = SettingValues()
    var credentials: TrialCredentials

    init(_ provider: SandboxProvider) throws {
        let server = try TrialSandbox.server()
        try server.sandbox.clearFaults()
        account = try server.sandbox.createAccount(provider, name: Self.name)
        let word = provider == .webdav ? "webdav" : provider.rawValue
        company = try #require(Company.all.first { $0.name.lowercased() == word })
        offer = try #require(company.signIn)
        for setting in offer.settings {
            guard let value = setting.question?.sandboxValue else { continue }
            if setting.kind == .texts {
                values.set(setting, to: [value])
            } else {
                values.set(setting, to: value)
            }
        }
        for setting in offer.settings where setting.kind == .servers {
            values.set(setting, to: ["https://nextcloud.sandbox.test/"])
        }
        credentials = try TrialCredentials(json: Self.json(of: account))
    }

    /// The credentials that the account's app sends, as a file.
    static func json(of account: SandboxAccount) throws -> [UInt8] {
        let members = [
            "access_token": "accessToken", "syncserver-authorization-code": "authorizationCode",
            "x-account-id": "accountID", "x-microsoft-access-token": "microsoftAccessToken",
        ]
        var json: [String: Any] = [:]
        for header in account.headers {
            if let member = members[header.name.lowercased()] { json[member] = header.value }
        }
        if let details = account.header("X-account-details") {
            json["details"] = try JSONSerialization.jsonObject(with: Data(details.utf8))
        }
        return Array(try JSONSerialization.data(withJSONObject: json))
    }

    /// Changes a setting of the provider.
    mutating func set(_ key: String, to text: String) throws {
        values.set(try #require(offer.settings.first { $0.key == key }), to: text)
    }

    func subject(_ deceptions: Deceptions = Deceptions()) throws -> ProviderTrial.Subject {
        let account = offer.makeAccount(values, { Date() })
        var subject = ProviderTrial.Subject(
            company: company.name, account: try #require(account),
            storage: offer.storage?.make(values), guide: offer.trial, credentials: credentials,
            transport: deceptions.around(try TrialSandbox.transport()))
        // The sandbox needs a moment to notice a broken connection.
        subject.pause = { Pause.sleep(min($0, .milliseconds(100))) }
        return subject
    }

    func run(_ deceptions: Deceptions = Deceptions()) throws -> TrialReport {
        try ProviderTrial(try subject(deceptions), version: "test", isSandbox: true).run()
    }

    /// Names of the files in the storage.
    func files() throws -> [String] { try TrialSandbox.server().sandbox.files(of: account).map(\.name) }
}

extension TrialReport {
    subscript(_ step: String) -> Step? { steps.first { $0.step == step } }

    /// The steps with an unexpected result.
    var failures: [String] { steps.filter { $0.result == .failed }.map(\.step) }

    /// Expects that the step reports the planted fault.
    /// - Parameter files: the files in the storage; `nil` if the fault leaves files there.
    func expectFault(in name: String, words: String, files: [String]?) throws {
        let step = try #require(self[name])
        #expect(step.result == .failed, "\(text)")
        #expect(step.came.contains(words), "\(text)")
        #expect(outcome == .failed)
        // The first failure is the fault itself, not a consequence.
        #expect(failures.first == name, "\(text)")
        if let files {
            #expect(self["cleanup"]?.result != .failed, "\(text)")
            #expect(files == [])
        } else {
            #expect(self["cleanup"]?.came.contains("some objects remain") == true, "\(text)")
        }
    }
}
