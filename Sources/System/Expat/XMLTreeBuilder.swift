/// Makes elements of what the parser reports, within limits.
struct XMLTreeBuilder {
    private let limits: XMLLimits
    /// The elements that are not complete, from the child of the root inwards.
    private var open: [XMLElement] = []
    private var isRootOpen = false
    private var hasChildren = false
    private var children: [XMLElement] = []
    private var childBytes = 0
    private var childElements = 0

    /// The root without its children; `nil` before it has begun.
    private(set) var root: XMLElement?
    /// Why parsing has to end.
    private(set) var failure: XMLError?

    init(limits: XMLLimits) {
        self.limits = limits
    }

    mutating func open(_ element: XMLElement) {
        guard isRootOpen else {
            root = element
            isRootOpen = true
            return count(element.name.utf8.count + element.namespace.utf8.count)
        }
        if open.isEmpty { (childBytes, childElements, hasChildren) = (0, 0, true) }
        open.append(element)
        childElements += 1
        count(element.name.utf8.count + element.namespace.utf8.count)
        // The root is one level more.
        if open.count >= limits.depth || childElements > limits.childElements { refuse(.tooLarge) }
    }

    mutating func append(_ text: String) {
        count(text.utf8.count)
        guard failure == nil else { return }
        guard open.isEmpty else {
            open[open.count - 1].text += text
            return
        }
        if !hasChildren { root?.text += text }
    }

    mutating func close() {
        guard let element = open.popLast() else {
            isRootOpen = false
            return
        }
        if open.isEmpty { children.append(element) } else { open[open.count - 1].children.append(element) }
    }

    /// The children of the root that are complete and were not taken yet.
    mutating func takeChildren() -> [XMLElement] {
        defer { children = [] }
        return children
    }

    mutating func refuse(_ reason: XMLError) { failure = failure ?? reason }

    /// Text of the root itself counts for the child before it, so that it has a bound as well.
    private mutating func count(_ bytes: Int) {
        childBytes += bytes
        if childBytes > limits.childBytes { refuse(.tooLarge) }
    }
}
