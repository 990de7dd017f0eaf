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

    /// Parses a complete document.
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

/// Builds elements from the parser's reports, within limits.
struct XMLTreeBuilder {
    /// The maximum length of an element's name, with its namespace and the separator, in bytes.
    static let longestName = 1024
    /// The maximum number of namespaces in a text.
    private static let maximumNamespaces = 256

    private let limits: XMLLimits
    /// The namespaces in use; each is in memory once, however many elements use it.
    private var namespaces: Set<String> = []
    /// The incomplete elements, from the child of the root inwards.
    private var open: [XMLElement] = []
    private var isRootOpen = false
    private var hasChildren = false
    private var children: [XMLElement] = []
    private var childBytes = 0
    private var childElements = 0

    /// The root without its children; `nil` before it has begun.
    private(set) var root: XMLElement?
    /// The number of reports from the parser.
    private(set) var events = 0
    /// Why parsing has to end.
    private(set) var failure: XMLError?

    init(limits: XMLLimits) {
        self.limits = limits
    }

    /// - Parameter text: a name as Expat reports it: the namespace, a separator and the name, or only the name.
    mutating func open(_ text: String) {
        events += 1
        guard text.utf8.count <= Self.longestName else { return refuse(.tooLarge) }
        var element = XMLElement(name: text, namespace: "")
        if let end = text.utf8.lastIndex(of: XMLReader.separator) {
            let namespace = namespaces.insert(String(text[..<end])).memberAfterInsert
            guard namespaces.count <= Self.maximumNamespaces else { return refuse(.tooLarge) }
            element = XMLElement(name: String(text[text.utf8.index(after: end)...]), namespace: namespace)
        }
        guard isRootOpen else {
            root = element
            isRootOpen = true
            return count(element.name.utf8.count + element.namespace.utf8.count)
        }
        if open.isEmpty { (childBytes, childElements, hasChildren) = (0, 0, true) }
        open.append(element)
        childElements += 1
        count(element.name.utf8.count + element.namespace.utf8.count)
        // The root is an additional level.
        if open.count >= limits.depth || childElements > limits.childElements { refuse(.tooLarge) }
    }

    mutating func append(_ text: String) {
        events += 1
        count(text.utf8.count)
        guard failure == nil else { return }
        guard open.isEmpty else {
            open[open.count - 1].text += text
            return
        }
        if !hasChildren { root?.text += text }
    }

    mutating func close() {
        events += 1
        guard let element = open.popLast() else {
            isRootOpen = false
            return
        }
        if open.isEmpty { children.append(element) } else { open[open.count - 1].children.append(element) }
    }

    /// The children of the root that are complete and have not been taken.
    mutating func takeChildren() -> [XMLElement] {
        defer { children = [] }
        return children
    }

    mutating func refuse(_ reason: XMLError) { failure = failure ?? reason }

    /// Text of the root itself counts towards the child before it, so that it is limited as well.
    private mutating func count(_ bytes: Int) {
        childBytes += bytes
        if childBytes > limits.childBytes { refuse(.tooLarge) }
    }
}
