/// The parameters of one request, decoded from the query and not yet interpreted.
public struct DecodedQuery: Sendable {
    struct Parameter: Sendable {
        let name: ParameterName
        let text: String
    }

    let values: [Parameter]

    /// The text of a parameter; nil if it was not given. Empty text is a value.
    public func text(_ name: ParameterName) -> String? {
        values.first { $0.name == name }?.text
    }

    /// The value of a parameter that may be omitted.
    /// - Throws: ``RequestError/malformed(_:expected:)``.
    public func optional<Value: QueryValue>(
        _ name: ParameterName, as type: Value.Type = Value.self
    ) throws(RequestError) -> Value? {
        guard let text = text(name) else { return nil }
        guard let value = Value(queryText: text) else { throw .malformed(name, expected: Value.expectedForm) }
        return value
    }

    /// The value of a required parameter.
    /// - Throws: ``RequestError/missing(_:)``, ``RequestError/malformed(_:expected:)``.
    public func required<Value: QueryValue>(
        _ name: ParameterName, as type: Value.Type = Value.self
    ) throws(RequestError) -> Value {
        guard let value = try optional(name, as: type) else { throw .missing(name) }
        return value
    }

    /// Free text that may be omitted, of at most `maximumCharacters` Unicode scalars.
    /// - Throws: ``RequestError/tooLong(_:maximumCharacters:)``.
    public func optionalText(_ name: ParameterName, maximumCharacters: Int) throws(RequestError) -> String? {
        guard let text = text(name) else { return nil }
        guard text.unicodeScalars.count <= maximumCharacters else {
            throw .tooLong(name, maximumCharacters: maximumCharacters)
        }
        return text
    }

    /// Required free text of at most `maximumCharacters` Unicode scalars.
    /// - Throws: ``RequestError/missing(_:)``, ``RequestError/tooLong(_:maximumCharacters:)``.
    public func requiredText(_ name: ParameterName, maximumCharacters: Int) throws(RequestError) -> String {
        guard let text = try optionalText(name, maximumCharacters: maximumCharacters) else { throw .missing(name) }
        return text
    }

    /// A required sharing group, which must be a hyphenated UUID, not just any text.
    /// - Throws: ``RequestError/missing(_:)``, ``RequestError/malformed(_:expected:)``.
    public func requiredGroupAsUUID() throws(RequestError) -> SharingGroupUUID {
        let group: SharingGroupUUID = try required(.sharingGroupUUID)
        guard group.isWellFormedUUID else { throw .malformed(.sharingGroupUUID, expected: .uuid) }
        return group
    }

    /// App metadata that may be omitted.
    /// - Throws: ``RequestError/malformed(_:expected:)``, ``RequestError/tooLarge(_:maximumBytes:)``.
    public func optionalAppMetaData() throws(RequestError) -> AppMetaData? {
        guard let text = text(.appMetaData) else { return nil }
        return try AppMetaData(jsonText: text)
    }
}
