/// A setting of a configuration that is there, and what it is to be.
public struct SettingChange: Sendable, Equatable {
    /// Its name in the file; a dot stands between an object and its member.
    public var key: String
    /// The value in JSON, on one line; no secret.
    public var json: String
}
