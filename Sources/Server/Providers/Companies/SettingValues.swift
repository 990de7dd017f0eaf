/// What a configuration file says about the settings of one service.
public struct SettingValues: Sendable {
    private var texts: [String: String] = [:]
    private var lists: [String: [String]] = [:]
    private var flags: [String: Bool] = [:]

    public init() {}

    /// A text; empty if there is none.
    public func text(_ setting: Setting) -> String { texts[setting.key] ?? "" }

    /// A text, if there is one that is not empty.
    public func optionalText(_ setting: Setting) -> String? { texts[setting.key].flatMap { $0.isEmpty ? nil : $0 } }

    /// A list of texts; empty if there is none.
    public func list(_ setting: Setting) -> [String] { lists[setting.key] ?? [] }

    public func flag(_ setting: Setting) -> Bool {
        if case .bool(let fallback) = setting.kind { flags[setting.key] ?? fallback } else { false }
    }

    /// A secret; `nil` if there is none, or the role for which the file was read does not need it.
    public func secret(_ setting: Setting) -> Secret? { optionalText(setting).map(Secret.init) }

    /// The text of ``secret(_:)``; empty if there is none.
    func secretText(_ setting: Setting) -> String { text(setting) }

    public mutating func set(_ setting: Setting, to text: String?) { texts[setting.key] = text }
    public mutating func set(_ setting: Setting, to list: [String]) { lists[setting.key] = list }
    public mutating func set(_ setting: Setting, to flag: Bool) { flags[setting.key] = flag }
}

// It contains secrets.
extension SettingValues: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
