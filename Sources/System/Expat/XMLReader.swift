import CExpat

/// Reads XML (1.0, with namespaces) from an untrusted source, while it arrives.
///
/// Returns the contents of the root child by child, so that a long list needs the memory of one entry. Only the five
/// predefined entities exist: a text with a document type declaration, which could declare others, is rejected before
/// anything in it is read. Nothing external is ever loaded. After an error the reader only repeats it. Not `Sendable`:
/// one thread at a time.
@safe
public struct XMLReader: ~Copyable {
    /// Between namespace and name in Expat's reports; Expat rejects namespaces that contain it (expat 2.4.5).
    static let separator = UInt8(ascii: " ")
    /// `XML_Parse` counts in `int`.
    private static let longestPiece = 1 << 20

    private let parser: OpaquePointer
    private let limits: XMLLimits
    private var tree: XMLTreeBuilder
    private var bytes = 0
    /// How many bytes have been read since Expat's last report.
    private var silentBytes = 0
    private var failure: XMLError?

    /// - Throws: ``XMLError/outOfMemory``.
    public init(limits: XMLLimits = XMLLimits()) throws(XMLError) {
        guard let parser = unsafe XML_ParserCreateNS(nil, CChar(Self.separator)) else { throw .outOfMemory }
        unsafe self.parser = unsafe parser
        self.limits = limits
        tree = XMLTreeBuilder(limits: limits)
        unsafe XML_UseParserAsHandlerArg(parser)
        unsafe XML_SetElementHandler(
            parser,
            { argument, name, _ in
                guard let name = unsafe name else { return }
                // One byte more than the limit.
                var length = 0
                while length <= XMLTreeBuilder.longestName, unsafe name[length] != 0 { length += 1 }
                let bytes = unsafe UnsafeRawBufferPointer(start: name, count: length)
                unsafe XMLReader.handle(argument) { $0.open(unsafe String(decoding: bytes, as: UTF8.self)) }
            },
            { argument, _ in unsafe XMLReader.handle(argument) { $0.close() } })
        unsafe XML_SetCharacterDataHandler(
            parser,
            { argument, text, count in
                let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
                unsafe XMLReader.handle(argument) { $0.append(unsafe String(decoding: bytes, as: UTF8.self)) }
            })
        unsafe XML_SetStartDoctypeDeclHandler(
            parser, { argument, _, _, _, _ in unsafe XMLReader.handle(argument) { $0.refuse(.documentType) } })
    }

    deinit { unsafe XML_ParserFree(parser) }

    /// Reads the next bytes of the text.
    /// - Returns: the children of the root that are now complete, in document order.
    public mutating func read(_ bytes: Span<UInt8>) throws(XMLError) -> [XMLElement] {
        self.bytes += bytes.count
        if self.bytes > limits.bytes { failure = failure ?? .tooLarge }
        var position = 0
        while position < bytes.count {
            let end = min(position + Self.longestPiece, bytes.count)
            try parse(bytes.extracting(position..<end), isLast: false)
            position = end
        }
        if let failure { throw failure }
        return tree.takeChildren()
    }

    /// Ends the text.
    /// - Returns: the root, without the children that were already returned.
    public mutating func finish() throws(XMLError) -> XMLElement {
        try parse(Span(), isLast: true)
        // Expat has checked that there is a root, and that it is complete.
        guard let root = tree.root else { throw .malformed(code: XML_ERROR_NO_ELEMENTS.rawValue) }
        return root
    }

    private mutating func parse(_ bytes: Span<UInt8>, isLast: Bool) throws(XMLError) {
        if let failure { throw failure }
        let parser = unsafe self.parser
        let before = tree.events
        let status = unsafe withUnsafeMutablePointer(to: &tree) { tree in
            // Valid for the duration of the call: handlers run only inside it.
            unsafe XML_SetUserData(parser, tree)
            return unsafe bytes.withUnsafeBytes { piece in
                unsafe XML_Parse(parser, piece.baseAddress, Int32(piece.count), isLast ? 1 : 0)
            }
        }
        guard status != XML_STATUS_OK else {
            // With each piece of a token, such as an attribute, Expat reads the token from its beginning (expat 2.5).
            silentBytes = tree.events == before ? silentBytes + bytes.count : 0
            if silentBytes > limits.childBytes { failure = .tooLarge }
            return
        }
        let error = unsafe tree.failure ?? Self.error(XML_GetErrorCode(parser))
        failure = error
        throw error
    }

    private static func error(_ code: XML_Error) -> XMLError {
        code == XML_ERROR_NO_MEMORY ? .outOfMemory : .malformed(code: code.rawValue)
    }

    /// Passes Expat's reports to the tree builder, and ends the parsing if it rejects one.
    @unsafe
    private static func handle(_ argument: UnsafeMutableRawPointer?, _ event: (inout XMLTreeBuilder) -> Void) {
        // Set by XML_UseParserAsHandlerArg; the user data is the member that `XML_GetUserData`, a macro, reads.
        guard let argument = unsafe argument else { return }
        let parser = OpaquePointer(argument)
        guard let tree = unsafe shim_xml_user_data(parser)?.assumingMemoryBound(to: XMLTreeBuilder.self) else {
            return
        }
        unsafe event(&tree.pointee)
        if unsafe tree.pointee.failure != nil { _ = unsafe XML_StopParser(parser, XML_Bool(XML_FALSE)) }
    }
}

/// Why a text is rejected as XML.
public enum XMLError: Error, Equatable {
    /// It is not well-formed, ends early, or is in an encoding other than UTF-8, UTF-16, ISO-8859-1 and US-ASCII; the
    /// payload is Expat's code (expat.h, `XML_Error`).
    case malformed(code: UInt32)
    /// It has a document type declaration, which could declare entities.
    case documentType
    /// It is larger, deeper, or has more elements than ``XMLLimits`` allow.
    case tooLarge
    /// Expat ran out of memory.
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
