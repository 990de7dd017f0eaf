public import FoundationEssentials

/// JSON that others wrote: providers, issuers of tokens, phones.
public enum UntrustedJSON {
    /// Arrays and objects within each other; what is meant for us has fewer than ten. Decoding needs stack for each level,
    /// and worker threads have little.
    public static let maximumDepth = 32

    /// Why a text is not decoded.
    public enum Refusal: Error {
        case tooDeep
        /// It can be read, but holds values that cannot be meant.
        case implausible
    }

    /// Decodes `bytes`.
    ///
    /// - Parameter keys: how members' names are turned into Swift's.
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

/// What knows which of its values cannot be meant: too long to be kept, negative where something is counted.
public protocol PlausibilityChecked {
    /// Whether all values are such that the server can work with them.
    var isPlausible: Bool { get }
}
