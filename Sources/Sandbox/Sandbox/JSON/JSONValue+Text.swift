extension JSONValue {
    /// The value as JSON text, indented by two spaces as Google prints it, or on one line.
    public func text(isPretty: Bool = false) -> String {
        var output = ""
        write(to: &output, indent: isPretty ? 0 : nil)
        return output
    }

    /// The value as UTF-8 JSON text.
    public func bytes(isPretty: Bool = false) -> [UInt8] { Array(text(isPretty: isPretty).utf8) }

    private func write(to output: inout String, indent: Int?) {
        switch self {
        case .null: output += "null"
        case .bool(let value): output += value ? "true" : "false"
        case .int(let value): output += String(value)
        case .double(let value): output += value.isFinite ? String(value) : "null"
        case .string(let value): Self.write(value, to: &output)
        case .array(let elements):
            Self.write(elements, between: ("[", "]"), to: &output, indent: indent) { element, output, indent in
                element.write(to: &output, indent: indent)
            }
        case .object(let object):
            Self.write(object.members, between: ("{", "}"), to: &output, indent: indent) { member, output, indent in
                Self.write(member.name, to: &output)
                output += indent == nil ? ":" : ": "
                member.value.write(to: &output, indent: indent)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element], between brackets: (String, String), to output: inout String, indent: Int?,
        _ one: (Element, inout String, Int?) -> Void
    ) {
        output += brackets.0
        let inner = indent.map { $0 + 1 }
        for (index, element) in elements.enumerated() {
            if index > 0 { output += "," }
            if let inner { output += "\n" + String(repeating: "  ", count: inner) }
            one(element, &output, inner)
        }
        if let indent, !elements.isEmpty { output += "\n" + String(repeating: "  ", count: indent) }
        output += brackets.1
    }

    private static func write(_ text: String, to output: inout String) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case "\u{0}"..."\u{1f}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }
}
