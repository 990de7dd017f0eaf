import Foundation

/// The locations of a running stack's parts, as printed by `scripts/stack env`.
public struct StackEnvironment: Sendable {
    /// The settings by name, such as `SYNC_URL` or `PIDS_syncd_api`.
    public let settings: [String: String]

    /// Uses known settings, such as the process environment.
    public init(settings: [String: String]) { self.settings = settings }

    /// Parses `KEY=value` lines whose values are quoted for a POSIX shell.
    public init(output: String) {
        var settings: [String: String] = [:]
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { settings[String(parts[0])] = Self.unquoted(parts[1]) }
        }
        self.settings = settings
    }

    /// The setting of that name.
    /// - Throws: ``StackError/missingSetting(_:)`` if the setting is missing.
    public func value(_ name: String) throws -> String {
        guard let value = settings[name], !value.isEmpty else { throw StackError.missingSetting(name) }
        return value
    }

    /// The processes of one part: `nginx`, `mariadb`, `syncd_api`, `syncd_transfer`, `syncd_jobs`, `sandbox`.
    public func processes(_ part: String) throws -> [StackProcess] {
        try value("PIDS_\(part)").split(separator: " ").compactMap { Int32($0).map(StackProcess.init) }
    }

    private static func unquoted(_ text: Substring) -> String {
        var result = ""
        var quote: Character?
        var isEscaped = false
        for character in text {
            if isEscaped {
                result.append(character)
                isEscaped = false
            } else if character == "\\" && quote != "'" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { result.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else {
                result.append(character)
            }
        }
        return result
    }
}

/// The reason why a stack cannot be used.
public enum StackError: Error {
    /// This setting is missing from the environment.
    case missingSetting(String)
    /// The setting's value is invalid.
    case malformedSetting(String)
    /// `scripts/stack` failed; its output.
    case scriptFailed(String)
}
