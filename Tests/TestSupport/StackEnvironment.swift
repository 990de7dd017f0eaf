import Foundation

/// Where the parts of a running stack are, as `scripts/stack env` prints it.
public struct StackEnvironment: Sendable {
    /// The settings by their names, such as `SYNC_URL` or `PIDS_syncd_api`.
    public let settings: [String: String]

    /// Takes settings that are already known, such as the process environment.
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
    /// - Throws: ``StackError/missingSetting(_:)`` if the stack did not say.
    public func value(_ name: String) throws -> String {
        guard let value = settings[name], !value.isEmpty else { throw StackError.missingSetting(name) }
        return value
    }

    /// The process ids of one part: `nginx`, `mariadb`, `syncd_api`, `syncd_transfer`, `syncd_jobs`, `sandbox`.
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

/// Why a stack cannot be used.
public enum StackError: Error {
    /// The environment lacks this setting.
    case missingSetting(String)
    /// The setting's value is not what it should be.
    case malformedSetting(String)
    /// `scripts/stack` failed; its output.
    case scriptFailed(String)
}
