import Posix

/// HTML made of the program's own markup and of escaped text: nothing that people or providers wrote becomes markup.
struct HTMLText: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    private(set) var markup: String

    init(stringLiteral markup: StaticString) { self.markup = markup.description }

    init(stringInterpolation interpolation: StringInterpolation) { markup = interpolation.markup }

    init() { markup = "" }

    /// Appends a style sheet of the program, which is not escaped inside its element.
    mutating func append(style: StaticString) { markup += style.description }

    static func += (left: inout HTMLText, right: HTMLText) { left.markup += right.markup }

    /// Literals are markup; what is interpolated is text, in an element or a quoted attribute.
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity + 512) }

        mutating func appendLiteral(_ literal: StaticString) { markup += literal.description }

        mutating func appendInterpolation(_ part: HTMLText) { markup += part.markup }

        mutating func appendInterpolation(_ number: Int) { markup += String(number) }

        /// Control and formatting characters, such as those that reverse the direction of text, are shown as numbers.
        mutating func appendInterpolation(_ text: String) {
            for scalar in PrintableText.escaping(text).unicodeScalars {
                switch scalar {
                case "&": markup += "&amp;"
                case "<": markup += "&lt;"
                case ">": markup += "&gt;"
                case "\"": markup += "&quot;"
                case "'": markup += "&#39;"
                default: markup.unicodeScalars.append(scalar)
                }
            }
        }
    }
}
