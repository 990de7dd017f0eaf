public import SyncProtocol

/// A secret that a setting refers to by file.
public struct SecretFile: Equatable, Sendable {
    /// As written in the configuration: an absolute path, or a name below /etc/syncd/secrets.
    public var name: String
    /// Who needs it. syncctl, which runs as root, reads all.
    public var readers: Set<ServerRole>
}
