import Posix
public import Providers

/// The settings of the companies' services in a SyncServerII's own configuration file, so that its operator need not
/// enter them again.
public struct OlderServerSettings: Sendable {
    /// The values of the settings of each sign-in or push service, including secrets. Contains only services with all
    /// required settings.
    public private(set) var values: [(settings: [Setting], values: SettingValues)] = []

    /// Reads a `Server.json` of either format, and ignores settings unrelated to companies.
    /// - Throws: ``ConfigurationError`` if it is not such a file, or a setting of a company is wrong.
    public init(readingFrom path: String) throws(ConfigurationError) {
        let root = try OlderServerDatabase.root(ofFileAt: path)
        var settings = SettingsReader(
            reader: ConfigurationReader(root), files: SecretFiles(configurationPath: path), permissions: 0o600,
            role: nil)
        let others = settings.reader.problems
        let accounts = settings.accounts()
        let push = settings.push()
        let problems = settings.reader.problems.filter { !others.contains($0) }
        guard problems.isEmpty else { throw ConfigurationError(path: path, problems: problems) }
        for offer in Company.signIns {
            if let found = accounts[offer.accountType] { values.append((offer.settings, found)) }
        }
        for offer in Company.pushes {
            if let found = push[offer.section] { values.append((offer.settings, found)) }
        }
    }
}
