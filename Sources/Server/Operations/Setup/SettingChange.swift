/// A setting of an existing configuration, and its new value.
public struct SettingChange: Sendable, Equatable {
    /// Its name in the file; a dot separates an object and its member.
    public var key: String
    /// The value as JSON, on one line; never a secret.
    public var json: String
}
