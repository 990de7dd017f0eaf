import FoundationEssentials
public import MariaDB
import Posix

/// Where a SyncServerII keeps its data, by that server's own configuration file.
public enum OlderServerDatabase {
    private static let formats = ["db", "mySQL"]

    /// Reads host, user, password and database from a `Server.json` of either format: an object `db`, or flat texts
    /// `mySQL.host` and so on. Everything else in the file is overlooked.
    /// - Throws: ``ConfigurationError``.
    public static func settings(readingFrom path: String) throws(ConfigurationError) -> ConnectionSettings {
        let bytes: [UInt8]
        do { bytes = try TextFile.read(path) } catch {
            throw ConfigurationError(path: path, problems: ["the file cannot be read: \(error)"])
        }
        let root: JSONValue
        do { root = try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) } catch {
            throw ConfigurationError(path: path, problems: ["the file is not JSON"])
        }
        var reader = ConfigurationReader(root)
        guard let prefix = formats.first(where: { reader.has(prefix: $0) }) else {
            throw ConfigurationError(
                path: path,
                problems: reader.problems + ["there is neither db nor mySQL.host: is this a SyncServerII's file?"]
            )
        }
        let settings = ConnectionSettings(
            address: .tcp(host: reader.required("\(prefix).host"), port: 3_306),
            user: reader.required("\(prefix).user"),
            password: reader.string("\(prefix).password") ?? "", database: reader.required("\(prefix).database"))
        guard reader.problems.isEmpty else { throw ConfigurationError(path: path, problems: reader.problems) }
        return settings
    }
}
