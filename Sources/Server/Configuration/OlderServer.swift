public import MariaDB
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

/// The database of a SyncServerII, according to that server's own configuration file.
public enum OlderServerDatabase {
    /// Reads host, user, password and database from a `Server.json` of either format: an object `db`, or flat strings
    /// `mySQL.host` and so on. Everything else in the file is ignored.
    /// - Throws: ``ConfigurationError``.
    public static func settings(readingFrom path: String) throws(ConfigurationError) -> ConnectionSettings {
        let root = try root(ofFileAt: path)
        guard case .object(let members) = root.value else { throw refusal(path, "the file must hold one JSON object") }
        let isDatabase: (LocatedJSON.Member) -> Bool = { $0.name == "db" || $0.name.hasPrefix("mySQL") }
        guard members.contains(where: isDatabase) else {
            throw refusal(path, "the file has neither db nor mySQL.host: is it from SyncServerII?")
        }
        var reader = ConfigurationReader(
            LocatedJSON(value: .object(members.filter(isDatabase)), place: root.place, extent: root.extent))
        let settings = ConnectionSettings(
            address: .tcp(host: reader.required("database.host"), port: 3_306),
            user: reader.required("database.user"),
            password: reader.string("database.password") ?? "", database: reader.required("database.name"))
        guard reader.problems.isEmpty else { throw ConfigurationError(path: path, problems: reader.problems) }
        return settings
    }

    /// The file as JSON.
    static func root(ofFileAt path: String) throws(ConfigurationError) -> LocatedJSON {
        let bytes: [UInt8]
        do { bytes = try TextFile.read(path) } catch {
            throw refusal(path, "the file cannot be read: \(error)")
        }
        do { return try LocatedJSONParser.parse(bytes) } catch {
            throw refusal(path, error.sentence, at: error.place)
        }
    }

    private static func refusal(_ path: String, _ sentence: String, at place: TextPlace? = nil) -> ConfigurationError {
        ConfigurationError(
            path: path, problems: [ConfigurationFinding(kind: .problem, place: place, sentence: sentence)])
    }
}
