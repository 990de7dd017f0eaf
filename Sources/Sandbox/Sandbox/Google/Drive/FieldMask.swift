/// The `fields` parameter: the members of a resource that the client requests.
///
/// The grammar is that of Google's "Work with partial resources": `a,b/c,d(e,f)`, with `*` for all members of a level.
struct FieldMask: Equatable {
    /// Whether everything below is requested.
    private(set) var isAll: Bool
    /// The requested members below each named member.
    private(set) var children: [String: FieldMask]

    /// Everything.
    static let all = FieldMask(isAll: true, children: [:])

    private init(isAll: Bool, children: [String: FieldMask]) {
        self.isAll = isAll
        self.children = children
    }

    /// The selection in a request; `nil` if the parameter is absent or empty.
    static func text(_ request: SandboxRequest) -> String? {
        request.query["fields"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Parses `text`.
    /// - Throws: ``DriveError`` 400 `invalidParameter`, like Drive for an invalid selection.
    init(_ text: String) throws(DriveError) {
        var parser = Parser(text: Array(text.utf8), source: text)
        self = try parser.list(isNested: false)
        guard parser.position == parser.text.count else { throw parser.failure }
    }

    /// Only these members.
    init(members: [String]) {
        self.init(isAll: false, children: Dictionary(members.map { ($0, .all) }) { $1 })
    }

    /// Whether the mask includes the member at that path.
    func wants(_ path: String...) -> Bool {
        var mask = self
        for name in path {
            if mask.isAll { return true }
            guard let child = mask.children[name] else { return false }
            mask = child
        }
        return true
    }

    /// The mask of one member; `nil` if it is not included.
    func child(_ name: String) -> FieldMask? { isAll ? .all : children[name] }

    /// The requested part of a value; arrays are projected element by element.
    func project(_ value: JSONValue) -> JSONValue {
        if isAll { return value }
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for member in object.members {
                if let child = children[member.name] { result[member.name] = child.project(member.value) }
            }
            return .object(result)
        case .array(let elements): return .array(elements.map(project))
        default: return value
        }
    }

    /// - Throws: ``DriveError`` if the mask names a member that is not among `names`.
    func requireKnown(_ names: Set<String>) throws(DriveError) {
        for name in children.keys.sorted() where !names.contains(name) { throw Self.failure(name) }
    }

    private mutating func add(_ name: String, _ mask: FieldMask) {
        if name == "*" {
            isAll = true
        } else if var present = children[name] {
            present.isAll = present.isAll || mask.isAll
            for (name, child) in mask.children { present.add(name, child) }
            children[name] = present
        } else {
            children[name] = mask
        }
    }

    private static func failure(_ text: String) -> DriveError {
        DriveError(400, "invalidParameter", "Invalid field selection \(text)", location: "fields")
    }

    private struct Parser {
        let text: [UInt8]
        let source: String
        var position = 0

        init(text: [UInt8], source: String) {
            self.text = text
            self.source = source
        }

        var failure: DriveError { FieldMask.failure(source) }
        var current: UInt8? { position < text.count ? text[position] : nil }

        mutating func list(isNested: Bool) throws(DriveError) -> FieldMask {
            var mask = FieldMask(isAll: false, children: [:])
            while true {
                let (name, child) = try item()
                mask.add(name, child)
                guard current == UInt8(ascii: ",") else { return mask }
                position += 1
            }
        }

        mutating func item() throws(DriveError) -> (String, FieldMask) {
            while current == 0x20 { position += 1 }
            let start = position
            while let byte = current, byte == UInt8(ascii: "*") || Self.isNameByte(byte) { position += 1 }
            let name = String(decoding: text[start..<position], as: UTF8.self)
            guard !name.isEmpty, name == "*" || !name.contains("*") else { throw failure }
            while current == 0x20 { position += 1 }
            switch current {
            case UInt8(ascii: "/"):
                position += 1
                let (childName, child) = try item()
                var mask = FieldMask(isAll: false, children: [:])
                mask.add(childName, child)
                return (name, mask)
            case UInt8(ascii: "("):
                position += 1
                let mask = try list(isNested: true)
                guard current == UInt8(ascii: ")") else { throw failure }
                position += 1
                return (name, mask)
            default: return (name, .all)
            }
        }

        static func isNameByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}
