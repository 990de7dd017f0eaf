/// An element with its text and its children. Attributes, comments and processing instructions are dropped.
public struct XMLElement: Equatable, Sendable {
    /// The name, without a prefix.
    public let name: String
    /// The namespace of the prefix; empty if there is none.
    public let namespace: String
    /// The character data directly inside, concatenated; for a root, only the text before the first child.
    public internal(set) var text = ""
    public internal(set) var children: [XMLElement] = []

    init(name: String, namespace: String) {
        self.name = name
        self.namespace = namespace
    }

    /// Reads a whole text.
    /// - Returns: the root.
    public init(parsing bytes: some Sequence<UInt8>, limits: XMLLimits = XMLLimits()) throws(XMLError) {
        var reader = try XMLReader(limits: limits)
        let text = Array(bytes)
        let children = try reader.read(text.span)
        self = try reader.finish()
        self.children = children
    }

    /// Whether the element has this name and namespace.
    public func isNamed(_ name: String, in namespace: String) -> Bool {
        self.name == name && self.namespace == namespace
    }

    /// The first child with that name.
    public func child(_ name: String, in namespace: String) -> XMLElement? {
        children.first { $0.isNamed(name, in: namespace) }
    }

    /// The children with that name.
    public func children(_ name: String, in namespace: String) -> [XMLElement] {
        children.filter { $0.isNamed(name, in: namespace) }
    }
}
