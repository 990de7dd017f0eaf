/// Text that an app attaches to a file, with its version.
///
/// The contents are opaque to the server; often they are JSON themselves. In a query, the whole value is sent as the
/// JSON text of an object; in replies, the contents are sent alone, as a string.
public struct AppMetaData: Sendable, Hashable {
    /// Maximum size of the contents, in bytes of UTF-8: the capacity of the database's column.
    public static let maximumContentsBytes = 65_535

    /// Maximum size of the contents in a reply's header, ASCII only and escaped, in bytes.
    public static let maximumEscapedBytes = 240_000

    /// The version of the file's metadata.
    public let version: AppMetaDataVersion
    /// Any text, including line breaks and NUL. Empty text is also metadata.
    public let contents: String

    /// Creates metadata, without checking the size.
    public init(version: AppMetaDataVersion, contents: String) {
        self.version = version
        self.contents = contents
    }

    /// Parses the JSON text of a query.
    ///
    /// It must be an object with the members `version` (an integer, or a string that contains one) and `contents` (a
    /// string), each exactly once, in any order; other members are ignored if they are JSON.
    /// - Throws: ``RequestError/malformed(_:expected:)``; ``RequestError/tooLarge(_:maximumBytes:)`` if the contents
    ///   cannot be stored, or cannot be returned in a header.
    public init(jsonText: String) throws(RequestError) {
        guard let parsed = try? Self.parse(jsonText) else {
            throw .malformed(.appMetaData, expected: .appMetaData)
        }
        guard parsed.contents.utf8.count <= Self.maximumContentsBytes else {
            throw .tooLarge(.appMetaData, maximumBytes: Self.maximumContentsBytes)
        }
        guard JSONWriter.asciiEscapedLength(of: parsed.contents) <= Self.maximumEscapedBytes else {
            throw .tooLarge(.appMetaData, maximumBytes: Self.maximumEscapedBytes)
        }
        self = parsed
    }

    /// The JSON text as a client sends it in a query, before percent-encoding.
    public var jsonText: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.field("version", version)
            writer.field("contents", text: contents)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static func parse(_ text: String) throws(JSONParser.SyntaxError) -> AppMetaData {
        var parser = JSONParser(text)
        var version: AppMetaDataVersion?
        var contents: String?
        try parser.object { (name, parser) throws(JSONParser.SyntaxError) in
            switch name {
            case "version":
                guard version == nil else { throw JSONParser.SyntaxError() }
                let number =
                    parser.peek() == UInt8(ascii: "\"")
                    ? StrictDecimal.parse(try parser.string().utf8, as: Int32.self)
                    : StrictDecimal.parse(try parser.number(), as: Int32.self)
                guard let number else { throw JSONParser.SyntaxError() }
                version = AppMetaDataVersion(number)
            case "contents":
                guard contents == nil else { throw JSONParser.SyntaxError() }
                contents = try parser.string()
            default:
                try parser.skipValue()
            }
        }
        try parser.expectEnd()
        guard let version, let contents else { throw JSONParser.SyntaxError() }
        return AppMetaData(version: version, contents: contents)
    }
}
