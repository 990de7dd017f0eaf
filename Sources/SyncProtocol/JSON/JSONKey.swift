/// The name of a member of a JSON object, ready to be copied into the text.
public struct JSONKey: Sendable, ExpressibleByStringLiteral {
    /// `,"name":`
    let bytesAfterComma: [UInt8]

    /// Makes a key of a name that needs no escaping: printable ASCII without quote and backslash.
    public init(stringLiteral name: String) {
        precondition(
            name.utf8.allSatisfy { JSONWriter.isPlainASCII($0) }, "the name of a member must need no escaping")
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.utf8.count + 4)
        bytes.append(contentsOf: ",\"".utf8)
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: "\":".utf8)
        bytesAfterComma = bytes
    }
}
