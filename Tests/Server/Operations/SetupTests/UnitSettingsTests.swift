import Foundation
import Operations
import TestSupport
import Testing

@Suite("systemd settings of the roles")
struct UnitSettingsTests {
    private func networks(
        _ resolvConf: String, database: String? = nil, usesSandbox: Bool = false
    ) -> UnitSettings.Networks {
        UnitSettings.Networks(database: database, usesSandbox: usesSandbox, resolvConf: resolvConf)
    }

    @Test(
        "Private networks are blocked unless the database or a name server is in one, or their location is unknown",
        arguments: [
            ("nameserver 9.9.9.9\n", nil, false, false),
            ("nameserver 9.9.9.9\nnameserver 192.168.1.1\n", nil, true, false),
            ("nameserver 10.0.0.2", nil, true, false), ("nameserver 172.31.0.2", nil, true, false),
            ("nameserver 172.32.0.2", nil, false, false), ("nameserver 100.100.1.1", nil, true, false),
            ("nameserver 127.0.0.53", nil, false, true), ("# nothing\n", nil, false, true),
            ("nameserver\tfd00::1", nil, true, false), ("nameserver fe80::1%eth0", nil, true, false),
            ("nameserver 2620:fe::fe", nil, false, false), ("nameserver ::1", nil, false, true),
            ("nameserver 9.9.9.9", "10.1.2.3", true, false), ("nameserver 9.9.9.9", "db.internal", true, true),
            ("nameserver 9.9.9.9", "127.0.0.1", false, true), ("nameserver 9.9.9.9", "93.184.216.34", false, false),
        ] as [(String, String?, Bool, Bool)])
    func needs(resolvConf: String, database: String?, needsPrivate: Bool, needsLoopback: Bool) {
        #expect(
            networks(resolvConf, database: database)
                == UnitSettings.Networks(needsPrivate: needsPrivate, needsLoopback: needsLoopback))
    }

    @Test(
        "A server that users may name is reachable wherever it is",
        arguments: [
            ("10.1.2.3", true, false), ("127.0.0.1", false, true), ("[fd00::1]", true, false), ("[::1]", false, true),
            ("s3.example.com", true, true), ("8.8.8.8", false, false),
        ])
    func namedServers(host: String, needsPrivate: Bool, needsLoopback: Bool) {
        #expect(
            UnitSettings.Networks(
                database: nil, usesSandbox: false, namedServers: [host], resolvConf: "nameserver 9.9.9.9")
                == UnitSettings.Networks(needsPrivate: needsPrivate, needsLoopback: needsLoopback))
    }

    @Test("The sandbox runs on this machine")
    func sandbox() { #expect(networks("nameserver 9.9.9.9", usesSandbox: true).needsLoopback) }

    @Test("The backup unit gets the owner's password, and the network only for a database elsewhere")
    func backup() {
        func lines(_ file: String?, isLocal: Bool = true) -> [Substring] {
            UnitSettings.OfBackup(passwordFile: file, isDatabaseLocal: isLocal).text.split(separator: "\n")
                .filter { !$0.hasPrefix("#") }
        }
        #expect(
            lines("/s/owner.pw") == ["[Service]", "LoadCredential=", "LoadCredential=secret_owner.pw:/s/owner.pw"])
        #expect(lines(nil) == ["[Service]", "LoadCredential="])
        #expect(lines("/s/o:p") == ["[Service]", "LoadCredential="])
        #expect(lines(nil, isLocal: false).last == "IPAddressAllow=any")
    }

    @Test("A drop-in replaces the whole folder with individual secrets; unusual names keep the folder")
    func text() {
        let networks = networks("nameserver 9.9.9.9")
        let plain = UnitSettings(
            role: "jobs", secrets: ["sealing-key", "a_b.c", "sealing-key"], secretsFolder: "/s", networks: networks)
        #expect(plain.path == "syncd-jobs@.service.d/least-privilege.conf")
        let lines = plain.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            lines == [
                "[Service]", "LoadCredential=", "LoadCredential=secret_a_b.c:/s/a_b.c",
                "LoadCredential=secret_sealing-key:/s/sealing-key",
                "IPAddressDeny=10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7",
                "IPAddressDeny=localhost",
            ])
        for name in ["with blank", "per%cent", "co:lon", "sub/folder", ""] {
            let odd = UnitSettings(role: "api", secrets: ["x", name], secretsFolder: "/s", networks: networks)
            #expect(!odd.text.contains("LoadCredential"), "\(name)")
        }
    }

    @Test("syncctl writes a drop-in for each role, but none if the configuration has mistakes")
    func command() throws {
        let folder = try ScratchFolder("units")
        let secrets = folder.url.appending(path: "secrets")
        try FileManager.default.createDirectory(at: secrets, withIntermediateDirectories: true)
        let key = Data(repeating: 7, count: 32).base64EncodedString()
        for name in ["owner", "api", "key", "google", "sns"] {
            try Data("\(name == "key" ? key : name)\n".utf8).write(to: secrets.appending(path: name))
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: secrets.appending(path: name).path)
        }
        let file = folder.url.appending(path: "syncd.json")
        let text = """
            {
              "database": {
                "socket": "/s", "name": "n", "user": "o", "passwordFile": "owner",
                "roles": {"api": {"user": "a", "passwordFile": "api"}}
              },
              "sealing": {"keyFile": "key"}, "allowedSignInTypes": {"Google": true},
              "GoogleServerClientId": "g", "GoogleServerClientSecretFile": "google",
              "awssns": {
                "accessKeyId": "k", "secretKeyFile": "sns", "region": "us-west-2",
                "platformApplicationArn": "arn:aws:sns:us-west-2:1:app/APNS/A"
              }
            }
            """
        try Data(text.utf8).write(to: file)
        let resolvConf = folder.url.appending(path: "resolv.conf")
        try Data("nameserver 192.168.1.1\n".utf8).write(to: resolvConf)
        let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "syncctl").path
        let write = { (units: URL) in
            try Command(
                program, ["unit-settings", units.path, "--config", file.path, "--resolv-conf", resolvConf.path])
        }
        func credentials(_ role: String) throws -> [String] {
            let path = folder.url.appending(path: "units/syncd-\(role)@.service.d/least-privilege.conf")
            let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
            #expect(!lines.contains { $0.hasPrefix("IPAddressDeny=10.") } && lines.contains("IPAddressDeny=localhost"))
            return lines.filter { $0.hasPrefix("LoadCredential=secret_") }.compactMap {
                $0.split(separator: "/").last.map(String.init)
            }
        }

        let written = try write(folder.url.appending(path: "units"))

        #expect(written.status == 0, "\(written.output)")
        #expect(try credentials("api") == ["api", "google", "key", "sns"])
        #expect(try credentials("transfer") == ["google", "key", "owner"])
        #expect(try credentials("jobs") == ["google", "key", "owner", "sns"])
        try Data("{".utf8).write(to: file)
        #expect(try write(folder.url.appending(path: "none")).status == 78)
        #expect(!FileManager.default.fileExists(atPath: folder.url.appending(path: "none").path))
    }
}
