import Foundation
import Providers
import SyncProtocol
import TestSupport
import Testing

@testable import Configuration

@Suite("Files that hold secrets")
struct SecretFilesTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path }

    init() throws {
        scratch = try ScratchFolder("secrets")
        try FileManager.default.createDirectory(atPath: folder + "/secrets", withIntermediateDirectories: true)
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
    }

    private func secret(_ name: String, credentials: String? = nil) throws -> String {
        try SecretFiles(configurationPath: folder + "/syncd.json", credentialsFolder: credentials).read(name).value
    }

    @Test("syncctl looks for secrets in their folder next to the configuration, then next to the configuration itself")
    func besideTheConfiguration() throws {
        try write("outer", to: "password")
        #expect(try secret("password") == "outer")

        try write("inner\n", to: "secrets/password")
        #expect(try secret("password") == "inner")
    }

    @Test("A service reads a secret from systemd's credentials, by the folder or by name")
    func credentials() throws {
        try write("not readable for the service", to: "secrets/password")
        try write("of the name", to: "password")
        #expect(try secret("password", credentials: folder) == "of the name")

        try write("of the folder", to: "secret_password")
        #expect(try secret("password", credentials: folder) == "of the folder")
    }

    @Test(
        "A configuration that is not yet written is read with planned secrets and with existing ones")
    func proposed() throws {
        try write(ConfigurationFolder.sealingKey, to: "secrets/sealing-key")
        func read(_ secrets: [String: Secret]) throws(ConfigurationError) -> ServerConfiguration {
            try ServerConfiguration(
                proposed: ConfigurationFolder.smallest, at: folder + "/syncd.json", secrets: secrets)
        }

        let configuration = try read(["google": Secret("coming")])

        #expect(configuration.accounts[.google]?.value("GoogleServerClientSecret") == "coming")
        #expect(configuration.sealingKey == Secret(ConfigurationFolder.sealingKey))
        #expect(throws: ConfigurationError.self) { try read([:]) }
    }

    @Test("A missing file is reported with its expected path")
    func missing() {
        let files = SecretFiles(configurationPath: folder + "/syncd.json", credentialsFolder: nil)

        #expect(files.path("password") == folder + "/secrets/password")
        #expect(throws: (any Error).self) { try files.read("password") }
        #expect(files.path("/absolute") == "/absolute")
    }
}
