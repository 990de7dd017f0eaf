/// HTML or SVG built from the program's own markup and escaped text: no text from people or providers becomes markup.
public struct HTMLText: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// The markup written so far.
    public private(set) var markup: String

    public init(stringLiteral markup: StaticString) { self.markup = markup.description }

    public init(stringInterpolation interpolation: StringInterpolation) { markup = interpolation.markup }

    /// Creates an empty text.
    public init() { markup = "" }

    /// Appends a style sheet of the program, which is not escaped inside its element.
    public mutating func append(style: StaticString) { markup += style.description }

    public static func += (left: inout HTMLText, right: HTMLText) { left.markup += right.markup }

    /// Literals are markup; interpolated values are text, in an element or a quoted attribute.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        public init(literalCapacity: Int, interpolationCount: Int) { markup.reserveCapacity(literalCapacity + 512) }

        public mutating func appendLiteral(_ literal: StaticString) { markup += literal.description }

        public mutating func appendInterpolation(_ part: HTMLText) { markup += part.markup }

        public mutating func appendInterpolation(_ number: Int) { markup += String(number) }

        /// Control and formatting characters, such as those that reverse the direction of text, are shown as numbers.
        ///
        /// Works scalar by scalar: a quote before a combining accent forms one `Character` with it, but still ends an
        /// attribute.
        public mutating func appendInterpolation(_ text: String) {
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
