import Foundation
import Providers
import SyncProtocol
import TestSupport

@testable import Configuration

/// A configuration file and its secrets in their own folder, which is deleted at the end.
final class ConfigurationFolder {
    static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
    static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().appending(path: "../../..").standardized

    /// Only the required settings.
    static let smallest = """
        {
            "database": {"socket": "/run/db.sock", "name": "n", "user": "u"},
            "allowedSignInTypes": {"Google": true},
            "GoogleServerClientId": "1-x", "GoogleServerClientSecretFile": "google"
        }
        """

    static let sealingKey = Data(repeating: 7, count: 32).base64EncodedString()

    private let folder: ScratchFolder
    var url: URL { folder.url }
    private var path: String { url.appending(path: "syncd.json").path }

    init() throws {
        folder = try ScratchFolder("configuration")
        try write("sealing-key", Self.sealingKey + "\n", mode: 0o600)
        try write("google", "secret of google\n", mode: 0o600)
    }

    func write(_ name: String, _ text: String, mode: Int) throws {
        let file = url.appending(path: name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    }

    func read(
        _ text: String, mode: Int = 0o640, for role: ServerRole? = nil
    ) throws(ConfigurationError) -> ServerConfiguration {
        try! write("syncd.json", text, mode: mode)
        return try ServerConfiguration(readingFrom: path, for: role)
    }

    /// All problems of a file, as shown to the operator.
    func problems(_ text: String, mode: Int = 0o640, for role: ServerRole? = nil) -> [String] {
        do {
            _ = try read(text, mode: mode, for: role)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }
}

extension SettingValues {
    /// The text or secret of a company's setting, by its key; `nil` if it is missing or empty.
    func value(_ key: String) -> String? {
        (Company.signIns.flatMap(\.settings) + Company.pushes.flatMap(\.settings)).first { $0.key == key }
            .flatMap(optionalText)
    }
}
