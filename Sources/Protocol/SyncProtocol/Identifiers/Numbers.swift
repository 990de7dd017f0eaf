/// A typed number: a fixed-width integer that is never negative.
///
/// In JSON it is written as an integral number, never as a string, and accepted as either; in a query it is decimal
/// digits.
public protocol WireInteger: Sendable, Hashable, Comparable, Codable, CustomStringConvertible, QueryValue {
    /// `Int32` or `Int64`, the width that clients use.
    associatedtype RawValue: FixedWidthInteger & SignedInteger & Codable & Sendable

    /// The number.
    var rawValue: RawValue { get }

    /// Creates a value from its number. The protocol has no negative numbers; external input is checked beforehand.
    init(_ rawValue: RawValue)
}

extension WireInteger {
    /// What a query value must look like.
    public static var expectedForm: ExpectedForm {
        RawValue.bitWidth == 32 ? .integer32 : .integer64
    }

    /// Numerical order.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The number in decimal.
    public var description: String { rawValue.description }

    /// Parses decimal digits; nil for anything else and for numbers that do not fit the width.
    public init?(queryText: String) {
        guard let rawValue = StrictDecimal.parse(queryText.utf8, as: RawValue.self) else { return nil }
        self.init(rawValue)
    }

    /// The number in decimal, as sent in a query.
    public var queryText: String { rawValue.description }

    /// Decodes a JSON number, or a string of decimal digits.
    public init(from decoder: any Decoder) throws {
        self.init(try LenientNumber<RawValue>(from: decoder).value)
    }

    /// Encodes as a JSON number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// Identifies a user; assigned by the server, never reused.
public struct UserID: WireInteger {
    /// The number.
    public let rawValue: Int64

    /// Creates a value from its number.
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// Counts the account switches of an identity: 0 until the first one.
public struct AccountEpoch: WireInteger {
    /// The number.
    public let rawValue: Int64

    /// Creates a value from its number.
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The version of a file's contents: 0 for the first upload, incremented with each later one.
public struct FileVersion: WireInteger {
    /// The number.
    public let rawValue: Int32

    /// Creates a value from its number.
    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The first version, that of a new file.
    public static let first = Self(0)

    /// The version after this one; nil at the end of the 32-bit range.
    public var next: Self? {
        rawValue == .max ? nil : Self(rawValue + 1)
    }
}

/// The version of a file's app metadata, independent of its contents: 0 for the first, incremented with each change.
public struct AppMetaDataVersion: WireInteger {
    /// The number.
    public let rawValue: Int32

    /// Creates a value from its number.
    public init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The first version, that of new metadata.
    public static let first = Self(0)

    /// The version after this one; nil at the end of the 32-bit range.
    public var next: Self? {
        rawValue == .max ? nil : Self(rawValue + 1)
    }
}

/// Counts the accepted changes to one sharing group; the optimistic lock of nearly all file operations.
public struct MasterVersion: WireInteger {
    /// The number.
    public let rawValue: Int64

    /// Creates a value from its number.
    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The version of a newly created group.
    public static let initial = Self(0)

    /// The version after one more change. Unchanged at the end of the 64-bit range, which no group reaches.
    public var next: Self {
        Self(rawValue == .max ? .max : rawValue + 1)
    }
}
