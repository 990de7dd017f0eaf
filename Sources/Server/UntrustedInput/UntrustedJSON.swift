public import FoundationEssentials

/// JSON from external sources: providers, token issuers, phones.
public enum UntrustedJSON {
    /// The maximum nesting depth of arrays and objects; legitimate input has fewer than ten levels. Decoding needs
    /// stack for each level, and worker threads have little.
    public static let maximumDepth = 32

    /// Why a text is not decoded.
    public enum Refusal: Error {
        case tooDeep
        /// It can be parsed, but contains implausible values.
        case implausible
    }

    /// Decodes `bytes`.
    ///
    /// - Parameter keys: how to convert members' names to Swift names.
    /// - Throws: `DecodingError`, or a ``Refusal``.
    public static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: some Collection<UInt8>, keys: JSONDecoder.KeyDecodingStrategy = .useDefaultKeys
    ) throws -> Value {
        guard isShallow(bytes) else { throw Refusal.tooDeep }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = keys
        let value = try decoder.decode(type, from: Data(bytes))
        if let checked = value as? any PlausibilityChecked, !checked.isPlausible { throw Refusal.implausible }
        return value
    }

    private static func isShallow(_ bytes: some Collection<UInt8>) -> Bool {
        var depth = 0
        var isInText = false
        var isEscaped = false
        for byte in bytes {
            if isInText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > maximumDepth { return false }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return true
    }
}

/// A type that recognizes implausible values: too long to be stored, or negative counts.
public protocol PlausibilityChecked {
    /// Whether the server can work with all values.
    var isPlausible: Bool { get }
}
