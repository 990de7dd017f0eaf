/// A JSON value whose objects keep the order of their members.
///
/// People and tests compare the providers' responses, so members keep their insertion order; those of decoded objects
/// are sorted by name. Numbers are integers (`int`) wherever that is exact.
public enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The text, if this is a string.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The integer, if this is one.
    public var int: Int? {
        switch self {
        case .int(let value): value
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }

    /// The number, integer or not, if this is one.
    public var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The boolean, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements, if this is an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, if this is an object.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The member with that name, if this is an object that has one.
    public subscript(_ name: String) -> JSONValue? { object?[name] }
}

/// The members of a JSON object, in order, each name once.
public struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// Names and values, in order.
    public private(set) var members: [(name: String, value: JSONValue)]

    /// An object with these members; of equal names the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = []
        for (name, value) in elements { self[name] = value }
    }

    /// The value of a member; `nil` if it does not exist. Setting `nil` removes the member.
    public subscript(_ name: String) -> JSONValue? {
        get { members.first { $0.name == name }?.value }
        set {
            let place = members.firstIndex { $0.name == name }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
        }
    }

    /// Equal if names, values and their order are equal.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.elementsEqual(right.members) { $0.name == $1.name && $0.value == $1.value }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object: JSONObject = [:]
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }
}

extension Optional where Wrapped == JSONValue {
    /// A string; `nil` for a member that may be absent.
    static func string(_ text: String?) -> JSONValue? { text.map { .string($0) } }
    /// An integer; `nil` for a member that may be absent.
    static func int(_ number: Int?) -> JSONValue? { number.map { .int($0) } }
}
