/// The settings of one service as read from a configuration file.
public struct SettingValues: Sendable {
    private var texts: [String: String] = [:]
    private var lists: [String: [String]] = [:]
    private var flags: [String: Bool] = [:]

    public init() {}

    /// A text; empty if absent.
    public func text(_ setting: Setting) -> String { texts[setting.key] ?? "" }

    /// A text; `nil` if absent or empty.
    public func optionalText(_ setting: Setting) -> String? { texts[setting.key].flatMap { $0.isEmpty ? nil : $0 } }

    /// A list of texts; empty if absent.
    public func list(_ setting: Setting) -> [String] { lists[setting.key] ?? [] }

    public func flag(_ setting: Setting) -> Bool {
        if case .bool(let fallback) = setting.kind { flags[setting.key] ?? fallback } else { false }
    }

    /// A secret; `nil` if absent, or if the role that read the file does not need it.
    public func secret(_ setting: Setting) -> Secret? { optionalText(setting).map(Secret.init) }

    /// The text of ``secret(_:)``; empty if absent.
    func secretText(_ setting: Setting) -> String { text(setting) }

    public mutating func set(_ setting: Setting, to text: String?) { texts[setting.key] = text }
    public mutating func set(_ setting: Setting, to list: [String]) { lists[setting.key] = list }
    public mutating func set(_ setting: Setting, to flag: Bool) { flags[setting.key] = flag }
}

// Hides the contents, which include secrets.
extension SettingValues: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
