public import SyncProtocol

/// A secret that a setting refers to by file.
public struct SecretFile: Equatable, Sendable {
    /// The setting that it is the value of, such as `database.password`.
    public var setting: String
    /// As written in the configuration: an absolute path, or a name below /etc/syncd/secrets.
    public var name: String
    /// Who needs it. syncctl, which runs as root, reads all.
    public var readers: Set<ServerRole>
}
