import Foundation
import TestSupport
import Testing

@Suite("What programs say of themselves, and of a start that fails")
struct StartTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("syncctl tells its version, which is the server's")
    func version() throws {
        let told = try OperatorTool(server).runPlain("--version")

        #expect(told.status == 0)
        let replied = try server.call("GET", "HealthCheck").headers.first { $0.name == "syncserver-version" }?.value
        #expect(told.output == replied.map { $0 + "\n" })
    }

    /// The stack's configuration with some settings changed, in a file that only its owner can read.
    private func configuration(in folder: ScratchFolder, _ change: (inout [String: Any]) -> Void) throws -> String {
        let original = try Data(contentsOf: URL(filePath: server.environment.value("CONFIG_FILE")))
        var settings = try #require(JSONSerialization.jsonObject(with: original) as? [String: Any])
        change(&settings)
        let path = folder.url.appending(path: "syncd.json").path
        let data = try JSONSerialization.data(withJSONObject: settings)
        try #require(
            FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600]))
        return path
    }

    @Test("What check-config warns of, doctor names, too")
    func warnings() throws {
        let folder = try ScratchFolder("start")
        let path = try configuration(in: folder) { settings in
            settings["FacebookClientSecretFile"] = nil
            settings["FacebookClientSecret"] = "in the file itself"
        }

        let told = try OperatorTool(server).runPlain("doctor", "--config", path).output

        #expect(told.contains("WARNING line 1, column "))
        #expect(told.contains("FacebookClientSecret is a secret: better in a file of its own"))
    }

    @Test("A log file that cannot be written is a mistake in the configuration, and named")
    func logFile() throws {
        let folder = try ScratchFolder("start")
        let path = try configuration(in: folder) { $0["log"] = ["file": "/nowhere/syncd.log"] }
        let program = try #require(try server.processes("syncd_jobs").first).executable()

        let ended = try Command(program, ["--role", "jobs", "--config", path])

        #expect(ended.status == 78)
        let reason = "open: No such file or directory"
        #expect(ended.output == "syncd: log.file names /nowhere/syncd.log, which cannot be written: \(reason)\n")
    }
}
