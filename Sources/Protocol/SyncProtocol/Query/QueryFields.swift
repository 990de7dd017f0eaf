/// The parameters of a message, each declared once: its name, its property, and how its value is read and written.
public struct QueryFields<Message>: Sendable {
    let parameters: ParameterList
    let decode: @Sendable (DecodedQuery) throws(RequestError) -> Message
    let encode: @Sendable (Message, inout QueryEncoder) -> Void

    /// Declares all parameters of a message.
    /// - Parameters:
    ///   - make: Creates the message from the values.
    ///   - fields: One for each value of `make`, in the same order. They are decoded in this order, so the first that is
    ///     missing or malformed is reported.
    public init<each Value>(
        _ make: @escaping @Sendable (repeat each Value) -> Message, _ fields: repeat QueryField<Message, each Value>
    ) {
        var lists: [ParameterList] = []
        for field in repeat each fields { lists.append(field.parameters) }
        parameters = ParameterList(combining: lists)
        decode = { query throws(RequestError) in make(repeat try (each fields).decode(query)) }
        encode = { message, encoder in repeat (each fields).encode(message, &encoder) }
    }
}

/// A property of a message and the parameter, or the few parameters, that it is read from and written to.
public struct QueryField<Message, Value>: Sendable {
    /// The property of the message.
    public typealias Property = any KeyPath<Message, Value> & Sendable

    let parameters: ParameterList
    let decode: @Sendable (DecodedQuery) throws(RequestError) -> Value
    let encode: @Sendable (Message, inout QueryEncoder) -> Void
}

extension QueryField where Value: QueryValue {
    /// A value that every request has.
    public static func required(_ name: ParameterName, _ property: Property) -> Self {
        Self(
            parameters: ParameterList(required: [name]),
            decode: { query throws(RequestError) in try query.required(name) },
            encode: { $1.add(name, $0[keyPath: property]) })
    }

    /// A value that clients always send, and that servers replace by `default` if it is missing.
    public static func optional(
        _ name: ParameterName, _ property: Property, default: Value
    ) -> Self {
        Self(
            parameters: ParameterList(optional: [name]),
            decode: { query throws(RequestError) in try query.optional(name) ?? `default` },
            encode: { $1.add(name, $0[keyPath: property]) })
    }
}

extension QueryField {
    /// A value that may be missing. With `other`, it has a meaning only in a request with that parameter, which then
    /// must not be missing.
    public static func optional<Wrapped: QueryValue>(
        _ name: ParameterName, _ property: Property, onlyWith other: ParameterName? = nil
    ) -> Self where Value == Wrapped? {
        Self(
            parameters: ParameterList(optional: [name]),
            decode: { query throws(RequestError) in
                let value: Wrapped? = try query.optional(name)
                if let other, value != nil, query.text(other) == nil { throw .missing(other) }
                return value
            },
            encode: { $1.add(name, $0[keyPath: property]) })
    }
}

extension QueryField where Value: RequestMessage {
    /// All parameters of another message, which this one extends.
    static func message(_ property: Property) -> Self {
        Self(
            parameters: Value.parameters, decode: Value.fields.decode,
            encode: { Value.fields.encode($0[keyPath: property], &$1) })
    }
}

extension QueryField where Value == Bool {
    /// Whether the parameter is sent with the value `1`; false if it is missing. Clients send only `1`.
    public static func flag(_ name: ParameterName, _ property: Property) -> Self {
        Self(
            parameters: ParameterList(optional: [name]),
            decode: { query throws(RequestError) in try query.optional(name) ?? false },
            encode: { if $0[keyPath: property] { $1.add(name, true) } })
    }
}

extension QueryField where Value == Int32 {
    /// A number that clients always send, and that servers replace by `default` if it is missing; in `range`.
    public static func number(
        _ name: ParameterName, _ property: Property, default: Int32,
        in range: ClosedRange<Int32>
    ) -> Self {
        Self(
            parameters: ParameterList(optional: [name]),
            decode: { query throws(RequestError) in
                let value: Int32 = try query.optional(name) ?? `default`
                try range.check(value, of: name)
                return value
            },
            encode: { $1.add(name, $0[keyPath: property]) })
    }
}

extension QueryField where Value == String {
    /// Free text of at most `maximum` Unicode scalars, which every request has.
    public static func requiredText(
        _ name: ParameterName, _ property: Property, maximumCharacters maximum: Int
    ) -> Self {
        Self(
            parameters: ParameterList(required: [name]),
            decode: { query throws(RequestError) in
                guard let text = try query.optionalText(name, maximumCharacters: maximum) else { throw .missing(name) }
                return text
            },
            encode: { $1.add(name, $0[keyPath: property]) })
    }
}

extension QueryField where Value == String? {
    /// Free text of at most `maximum` Unicode scalars, which may be missing.
    public static func optionalText(
        _ name: ParameterName, _ property: Property, maximumCharacters maximum: Int
    ) -> Self {
        Self(
            parameters: ParameterList(optional: [name]),
            decode: { query throws(RequestError) in try query.optionalText(name, maximumCharacters: maximum) },
            encode: { $1.add(name, $0[keyPath: property]) })
    }
}

extension QueryField where Value == SharingGroupUUID {
    /// The sharing group of every request, where it must be a hyphenated UUID, not just any text.
    public static func groupAsUUID(_ property: Property) -> Self {
        Self(
            parameters: ParameterList(required: [.sharingGroupUUID]),
            decode: { query throws(RequestError) in
                let group: SharingGroupUUID = try query.required(.sharingGroupUUID)
                guard group.isWellFormedUUID else { throw .malformed(.sharingGroupUUID, expected: .uuid) }
                return group
            },
            encode: { $1.add(.sharingGroupUUID, $0[keyPath: property]) })
    }
}

extension QueryField where Value == AppMetaData? {
    /// App metadata, which may be missing.
    ///
    /// The first field of its message: malformed metadata swallow the following parameters, which then seem to be
    /// missing.
    static func appMetaData(_ property: Property) -> Self {
        Self(
            parameters: ParameterList(optional: [.appMetaData]),
            decode: { query throws(RequestError) in try query.text(.appMetaData).map(AppMetaData.init(jsonText:)) },
            encode: { $1.add(.appMetaData, $0[keyPath: property]?.jsonText) })
    }
}

extension ClosedRange<Int32> {
    /// Accepts a parameter's value within the range.
    /// - Throws: ``RequestError/outOfRange(_:allowed:)``.
    func check(_ value: Int32, of name: ParameterName) throws(RequestError) {
        guard contains(value) else { throw .outOfRange(name, allowed: Int64(lowerBound)...Int64(upperBound)) }
    }
}
