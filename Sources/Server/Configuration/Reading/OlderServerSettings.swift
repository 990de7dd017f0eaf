import Posix
public import Providers

/// What a SyncServerII's own configuration file says about the companies' services: the answers that its operator has
/// given once.
public struct OlderServerSettings: Sendable {
    /// By the sign-in or push service: the values of its settings, secrets included. Only services with all that they
    /// require.
    public private(set) var values: [(settings: [Setting], values: SettingValues)] = []

    /// Reads a `Server.json` of either format; what is not about companies is ignored.
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
