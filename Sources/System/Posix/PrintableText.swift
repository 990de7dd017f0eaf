/// Text that is safe to print on a terminal.
public enum PrintableText {
    /// Replaces each unprintable character by `\u{…}` with its number: control characters (C0 including tabs and line
    /// ends, DEL and C1, which terminals interpret as commands), formatting characters such as those that reverse the
    /// text direction (Unicode categories Cc, Cf, Zl and Zp), and other invisible ones.
    ///
    /// Escaping is idempotent. A backslash is left as it is: escapes are for reading, not for decoding.
    public static func escaping(_ text: String) -> String {
        guard !isPrintable(text) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isPrintable(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result
    }

    /// Escapes each line and joins them with line feeds: the number of lines is unchanged.
    public static func lines(_ lines: [String]) -> String { lines.map(escaping).joined(separator: "\n") }

    /// Replaces unprintable characters by the equivalent escapes of JSON (RFC 8259, section 7).
    ///
    /// Line ends and spaces between the values are unchanged. Strings must already be valid JSON.
    public static func json(_ json: String) -> String {
        guard !isPrintable(json) else { return json }
        var result = ""
        for scalar in json.unicodeScalars {
            if scalar == "\n" || isPrintable(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        return result
    }

    private static func isPrintable(_ text: String) -> Bool {
        text.utf8.allSatisfy { 0x20..<0x7F ~= $0 } || text.unicodeScalars.allSatisfy(isPrintable)
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        // Invisible fillers; variation selectors only affect how the preceding character looks.
        default: !scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.isVariationSelector
        }
    }
}
