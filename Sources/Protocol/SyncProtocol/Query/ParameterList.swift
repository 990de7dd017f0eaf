/// The closed list of the parameters that one endpoint knows.
///
/// Decoding a query depends on it: clients do not encode `&`, and only the list tells a separator from text.
public struct ParameterList: Sendable {
    /// One parameter with what decoding needs to know about it.
    struct Entry: Sendable {
        let name: ParameterName
        let bytes: [UInt8]
        let isRequired: Bool
        let isFreeText: Bool
    }

    /// In the order in which clients send them.
    let entries: [Entry]
    let hasFreeText: Bool

    /// Lists the parameters.
    ///
    /// `debugOnly` are those with an effect in debug builds at most; they have to be listed all the same, lest
    /// they be taken for text. `alwaysEncoded` are texts that deployed clients do not send to this endpoint: whoever sends
    /// them encodes a `&` inside, so that none needs to be recovered.
    public init(
        required: [ParameterName] = [], optional: [ParameterName] = [], debugOnly: [ParameterName] = [],
        alwaysEncoded: [ParameterName] = []
    ) {
        let names = (required + optional + debugOnly + alwaysEncoded).sorted()
        precondition(Set(names).count == names.count, "a parameter is listed twice")
        entries = names.map { name in
            Entry(
                name: name, bytes: Array(name.rawValue.utf8), isRequired: required.contains(name),
                isFreeText: name.isFreeText && !alwaysEncoded.contains(name))
        }
        hasFreeText = entries.contains(where: \.isFreeText)
        precondition(!hasFreeText || !names.contains(.appMetaData), "recovery of & knows either text or metadata")
    }

    /// All names, in ascending order.
    public var names: [ParameterName] { entries.map(\.name) }

    /// Whether a request must have this parameter.
    public func requires(_ name: ParameterName) -> Bool {
        entries.contains { $0.name == name && $0.isRequired }
    }

    /// The index of the entry with this name, as UTF-8.
    func index(named name: some Collection<UInt8>) -> Int? {
        entries.firstIndex { $0.bytes.count == name.count && $0.bytes.elementsEqual(name) }
    }
}
