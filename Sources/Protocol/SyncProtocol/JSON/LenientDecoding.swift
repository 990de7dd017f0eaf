/// A number in a reply, possibly sent as text: older servers were inconsistent, and clients accept both.
struct LenientNumber<Value: LosslessStringConvertible & Decodable & Sendable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = Value(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a number")
            }
            self.value = value
        } else {
            value = try container.decode(Value.self)
        }
    }
}

/// A word of a closed set in a reply; nil if this version does not know it, so that a new word does not prevent the
/// rest of the reply from being decoded.
struct LenientWord<Word: RawRepresentable & Sendable>: Decodable where Word.RawValue == String {
    let word: Word?

    init(from decoder: any Decoder) throws {
        word = Word(rawValue: try decoder.singleValueContainer().decode(String.self))
    }
}

extension KeyedDecodingContainer {
    /// A required number, as a number or as text.
    func number<Value: LosslessStringConvertible & Decodable & Sendable>(
        _ key: Key, as type: Value.Type = Value.self
    ) throws -> Value {
        try decode(LenientNumber<Value>.self, forKey: key).value
    }

    /// A number that may be absent or null, as a number or as text.
    func optionalNumber<Value: LosslessStringConvertible & Decodable & Sendable>(
        _ key: Key, as type: Value.Type = Value.self
    ) throws -> Value? {
        try decodeIfPresent(LenientNumber<Value>.self, forKey: key)?.value
    }

    /// A word of a closed set; nil if it is absent, null, or not one of the set.
    func knownWord<Word: RawRepresentable & Sendable>(
        _ key: Key, as type: Word.Type = Word.self
    ) throws -> Word? where Word.RawValue == String {
        try decodeIfPresent(LenientWord<Word>.self, forKey: key)?.word
    }
}
