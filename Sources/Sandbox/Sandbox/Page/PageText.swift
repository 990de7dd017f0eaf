internal import Posix

/// Formats texts and sizes for the pages for people.
enum PageText {
    /// Text that is safe inside elements and quoted attributes; invisible and direction-changing characters are written
    /// as numbers.
    ///
    /// Works scalar by scalar: a quote before a combining accent forms one `Character` with it, but still ends an
    /// attribute.
    static func escape(_ text: String) -> String {
        var output = ""
        for scalar in PrintableText.escaping(text).unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }

    /// Text of several lines, for `pre`: line ends and tabs are kept.
    static func escapeLines(_ text: String) -> String {
        text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }.map { line in
            let line = line.last == "\r" ? line.dropLast() : line
            return line.split(separator: "\t", omittingEmptySubsequences: false).map { escape(String($0)) }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }

    /// `no file`, `1 file`, `2 files`.
    static func count(_ number: Int, _ noun: String) -> String {
        "\(number == 0 ? "no" : String(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// A size for people: 1,000 bytes are 1 kB.
    static func size(_ bytes: Int) -> String {
        var number = Double(bytes)
        for unit in ["bytes", "kB", "MB", "GB", "TB"] {
            if number < 999.5 || unit == "TB" {
                let tenths = (number * 10).rounded()
                let isWhole = number >= 99.5 || tenths.remainder(dividingBy: 10) == 0
                return isWhole ? "\(Int(number.rounded())) \(unit)" : "\(tenths / 10) \(unit)"
            }
            number /= 1_000
        }
        return ""
    }
}
