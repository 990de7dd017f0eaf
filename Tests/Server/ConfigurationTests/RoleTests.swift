import Foundation
import MariaDB
import Providers
import SyncProtocol
import Testing

@testable import Configuration

@Suite("The configuration that each role reads")
struct RoleTests {
    private static let configuration = """
        {
          "database": {
            "socket": "/s", "name": "n", "user": "owner", "passwordFile": "owner-password",
            "roles": {
              "api": {"user": "a", "passwordFile": "api-password"},
              "transfer": {"user": "t", "passwordFile": "transfer-password"},
              "jobs": {"user": "j", "passwordFile": "jobs-password"}
            }
          },
          "sealing": {"keyFile": "key"},
          "allowedSignInTypes": {"Google": true, "Facebook": true},
          "GoogleServerClientId": "g", "GoogleServerClientSecretFile": "google-secret",
          "FacebookClientId": "f", "FacebookClientSecretFile": "facebook",
          "awssns": {
            "accessKeyId": "k", "secretKeyFile": "sns", "region": "us-west-2",
            "platformApplicationArn": "arn:aws:sns:us-west-2:1:app/APNS/A"
          },
          "apns": {"teamId": "t", "keyId": "k", "topic": "x", "privateKeyFile": "apns"}
        }
        """

    private func folder(_ secrets: [String]) throws -> ConfigurationFolder {
        let folder = try ConfigurationFolder()
        for name in secrets {
            try folder.write(
                name, name == "apns" ? Self.key : name == "key" ? ConfigurationFolder.sealingKey : "\(name)'s",
                mode: 0o600)
        }
        return folder
    }

    /// Created by `openssl genpkey` for this test.
    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2S/630QZd41xLl6a
        oaKHhoUVUrTEjvezzkoqPtDK25GhRANCAASwyfBABIcGVmzj5nMnJ4MhYTJB1Aip
        0CPlO2hEAepEJztnNsqMIClB0kYch5jr879P3k2Yq7y6cXM9OmMWbeCB
        -----END PRIVATE KEY-----
        """

    private static let needs: [ServerRole: [String]] = [
        .api: ["api-password", "key", "google-secret", "facebook", "sns"],
        .transfer: ["transfer-password", "key", "google-secret", "facebook"],
        .jobs: ["jobs-password", "key", "google-secret", "sns", "apns"],
    ]

    @Test("A backup requires only the password of the database's owner; the secrets of other accounts are listed")
    func databaseAlone() throws {
        let folder = try folder(["owner-password"])
        try folder.write("syncd.json", Self.configuration, mode: 0o640)

        let configuration = try ServerConfiguration(
            readingForDatabaseAlone: folder.url.appending(path: "syncd.json").path)
        #expect(configuration.database.user == "owner" && configuration.database.password == "owner-password's")
        #expect(configuration.sealingKey.value.isEmpty)
        let named = try ServerConfiguration(proposed: Self.configuration, withoutSecretsAt: "/nowhere/syncd.json")
        #expect(
            named.secretFiles.first { $0.name == "key" }?.setting.hasPrefix("sealing.key") == true)
        #expect(
            Set(named.secretFiles.map(\.name)) == [
                "owner-password", "api-password", "transfer-password", "jobs-password", "key", "google-secret",
                "facebook",
                "sns", "apns",
            ])
        let byDefault = try ServerConfiguration(
            proposed: Self.configuration.replacingOccurrences(
                of: #""sealing": {"keyFile": "key"},"#, with: ""),
            withoutSecretsAt: "/nowhere/syncd.json")
        #expect(byDefault.secretFiles.contains { $0.name == "sealing-key" })
    }

    @Test("A role starts with the secrets that it needs, without any of the others", arguments: ServerRole.allCases)
    func needed(role: ServerRole) throws {
        let needs = try #require(Self.needs[role])
        let folder = try folder(needs)

        let configuration = try folder.read(Self.configuration, for: role)

        #expect(configuration.database.password == "\(role.rawValue)-password's")
        #expect(configuration.database.user == String(role.rawValue.prefix(1)))
        #expect(configuration.roleAccounts.isEmpty)
        #expect((configuration.push["apns"]?.value("apns.privateKey") != nil) == (role == .jobs))
        #expect(configuration.push["apns"]?.value("apns.topic") == "x")
        #expect((configuration.push["awssns"]?.value("awssns.secretKey") != nil) == (role != .transfer))
        #expect(
            configuration.accounts[.facebook]?.value("FacebookClientSecret") == (role == .jobs ? nil : "facebook's"))
        for missing in needs {
            let less = try self.folder(needs.filter { $0 != missing })
            #expect(less.problems(Self.configuration, for: role).count == 1, "\(role) without \(missing)")
        }
    }

    @Test("The operator reads all secrets, and has the accounts of the owner and of the roles")
    func operatorReadsAll() throws {
        let all = Set(Self.needs.values.joined()).union(["owner-password"])
        let configuration = try folder(Array(all)).read(Self.configuration)

        #expect(configuration.database.user == "owner" && configuration.database.password == "owner-password's")
        #expect(configuration.roleAccounts.mapValues(\.user) == [.api: "a", .transfer: "t", .jobs: "j"])
        #expect(configuration.roleAccounts[.jobs]?.password == "jobs-password's")
        #expect(Set(configuration.secretFiles.map(\.name)) == all)
        #expect(try folder(Array(all.subtracting(["apns"]))).problems(Self.configuration).count == 1)
    }

    @Test("A role without its own account uses the owner's")
    func owner() throws {
        let plain = """
            {
              "database": {"socket": "/s", "name": "n", "user": "owner", "passwordFile": "owner-password"},
              "allowedSignInTypes": {"Google": true},
              "GoogleServerClientId": "g", "GoogleServerClientSecretFile": "google"EXTRA
            }
            """
        let folder = try folder(["owner-password", "jobs-password"])
        let none = plain.replacing("EXTRA", with: "")
        #expect(try folder.read(none, for: .api).database.password == "owner-password's")
        #expect(try folder.read(none).roleAccounts.isEmpty)

        let one = plain.replacing(
            "EXTRA",
            with: #", "database.roles.jobs.user": "j", "database.roles.jobs.passwordFile": "jobs-password""#)
        #expect(try folder.read(one, for: .jobs).database.user == "j")
        #expect(try folder.read(one, for: .transfer).database.user == "owner")
        let nameless = plain.replacing("EXTRA", with: #", "database.roles.jobs.passwordFile": "jobs-password""#)
        #expect(folder.problems(nameless, for: .jobs).contains { $0.contains("database.roles.jobs.user is missing") })
    }
}
