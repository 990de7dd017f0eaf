/// Why a text is rejected as XML.
public enum XMLError: Error, Equatable {
    /// It is not well-formed, ends early, or is in an encoding other than UTF-8, UTF-16, ISO-8859-1 and US-ASCII; the
    /// payload is Expat's code (expat.h, `XML_Error`).
    case malformed(code: UInt32)
    /// It has a document type declaration, which could declare entities.
    case documentType
    /// It is larger, deeper, or has more elements than ``XMLLimits`` allow.
    case tooLarge
    /// Expat has no memory.
    case outOfMemory
}

extension XMLError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let code): "the XML is not well-formed (code \(code))"
        case .documentType: "the XML has a document type declaration"
        case .tooLarge: "the XML is too large"
        case .outOfMemory: "not enough memory for the XML parser"
        }
    }
}

/// Limits for XML texts; legitimate replies of servers are far below them.
public struct XMLLimits: Sendable {
    /// The length of the whole text, in bytes.
    public var bytes: Int
    /// The length of each child of the root, in bytes of text and names.
    public var childBytes: Int
    /// The maximum nesting depth of elements, including the root.
    public var depth: Int
    /// The number of elements in each child of the root, itself included.
    public var childElements: Int

    public init(bytes: Int = 1 << 20, childBytes: Int = 256 << 10, depth: Int = 16, childElements: Int = 1000) {
        self.bytes = bytes
        self.childBytes = childBytes
        self.depth = depth
        self.childElements = childElements
    }
}
