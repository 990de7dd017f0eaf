public import SyncProtocol

/// A secret that a setting refers to by file.
public struct SecretFile: Equatable, Sendable {
    /// The setting whose value it is, such as `database.password`.
    public var setting: String
    /// As written in the configuration: an absolute path, or a name below /etc/syncd/secrets.
    public var name: String
    /// The roles that need it. syncctl, which runs as root, reads all.
    public var readers: Set<ServerRole>
}
