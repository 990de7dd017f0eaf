/// Determines, byte by byte, whether the text so far is a complete JSON value.
///
/// It follows brackets, strings and escapes only. For text that is valid JSON so far, the answer is exact; text that is
/// not JSON may be reported complete or not, and is rejected by its parser.
struct JSONCompletenessScanner {
    private enum State {
        case beforeValue
        case inValue
        case inString
        case afterBackslash
        case inScalar
        case complete
        case invalid
    }

    private var state = State.beforeValue
    private var depth = 0

    /// Whether the text scanned so far is a complete value, with at most whitespace around it.
    ///
    /// A number or literal outside any brackets counts as complete after each of its characters.
    var isComplete: Bool { state == .complete || state == .inScalar }

    /// Scans the next byte.
    mutating func scan(_ byte: UInt8) {
        switch state {
        case .inString:
            if byte == UInt8(ascii: "\\") {
                state = .afterBackslash
            } else if byte == UInt8(ascii: "\"") {
                state = depth == 0 ? .complete : .inValue
            }
        case .afterBackslash:
            state = .inString
        case .beforeValue, .inValue:
            scanOutsideString(byte)
        case .inScalar, .complete:
            if Self.isBlank(byte) {
                state = .complete
            } else if state == .complete {
                state = .invalid
            }
        case .invalid:
            break
        }
    }

    private mutating func scanOutsideString(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            state = .inValue
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            depth -= 1
            state = depth == 0 ? .complete : depth < 0 ? .invalid : .inValue
        case UInt8(ascii: "\""):
            state = .inString
        default:
            if depth == 0, !Self.isBlank(byte) { state = .inScalar }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}
