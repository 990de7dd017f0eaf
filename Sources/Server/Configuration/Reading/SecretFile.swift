public import SyncProtocol

/// A secret that a setting leaves to a file.
public struct SecretFile: Equatable, Sendable {
    /// As the configuration has it: an absolute path, or a name below /etc/syncd/secrets.
    public var name: String
    /// Who needs it. syncctl, which runs as root, reads all.
    public var readers: Set<ServerRole>
}
