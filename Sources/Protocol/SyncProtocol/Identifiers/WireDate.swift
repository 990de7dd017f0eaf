/// A point in time in whole seconds, UTC, in the form that clients read: `yyyy-MM-dd HH:mm:ss`.
///
/// The calendar is the proleptic Gregorian one, computed here, so that neither a time zone database nor a formatter
/// is needed. Leap seconds do not exist, as in POSIX time.
public struct WireDate: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// Seconds since 1970-01-01 00:00:00 UTC; within the years 1 to 9999.
    public let secondsSince1970: Int64

    /// The first second of the year 1.
    public static let earliest = WireDate(unchecked: -62_135_596_800)

    /// The last second of the year 9999.
    public static let latest = WireDate(unchecked: 253_402_300_799)

    private init(unchecked secondsSince1970: Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// Creates a date from its seconds since 1970; times outside the years 1 to 9999 are clamped to the nearest date in
    /// range.
    public init(secondsSince1970: Int64) {
        let earliest = Self.earliest.secondsSince1970
        let latest = Self.latest.secondsSince1970
        self.init(unchecked: min(max(secondsSince1970, earliest), latest))
    }

    /// Creates a date from its components; nil unless it is a real date of the years 1 to 9999 and a real time (no
    /// second 60).
    public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= CivilDate.daysInMonth(month, ofYear: year),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        self.init(unchecked: Int64(days) * 86_400 + Int64(hour * 3_600 + minute * 60 + second))
    }

    /// Parses `yyyy-MM-dd HH:mm:ss`: exactly 19 characters, no zone, no fraction; nil for anything else.
    public init?(_ text: String) {
        self.init(text: text.utf8)
    }

    /// Parses the bytes of `yyyy-MM-dd HH:mm:ss`, as stored in a database column.
    public init?(text: some Collection<UInt8>) {
        guard text.count == 19 else { return nil }
        var numbers = [0, 0, 0, 0, 0, 0]
        var part = 0
        for (position, byte) in text.enumerated() {
            switch position {
            case 4, 7, 10, 13, 16:
                let separator: Unicode.Scalar = position < 10 ? "-" : position == 10 ? " " : ":"
                guard byte == UInt8(ascii: separator) else { return nil }
                part += 1
            default:
                guard byte &- 0x30 < 10 else { return nil }
                numbers[part] = numbers[part] * 10 + Int(byte &- 0x30)
            }
        }
        self.init(
            year: numbers[0], month: numbers[1], day: numbers[2],
            hour: numbers[3], minute: numbers[4], second: numbers[5])
    }

    /// Parses an operator's input: ``iso8601``, or the form that clients read; nil for anything else.
    public init?(typed text: String) {
        var bytes = Array(text.utf8)
        if bytes.count == 20, bytes[10] == UInt8(ascii: "T"), bytes[19] == UInt8(ascii: "Z") {
            bytes[10] = UInt8(ascii: " ")
            bytes.removeLast()
        }
        self.init(text: bytes)
    }

    /// Earlier dates come first.
    public static func < (left: Self, right: Self) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }

    /// The date in the form that clients read, `yyyy-MM-dd HH:mm:ss`.
    public var description: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the 19 ASCII characters of the date.
    public func append(to bytes: inout [UInt8]) {
        var days = Int(secondsSince1970 / 86_400)
        var second = Int(secondsSince1970 % 86_400)
        if second < 0 {
            second += 86_400
            days -= 1
        }
        let date = CivilDate(daysSince1970: days)
        func digits(_ number: Int) {
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + number / 10))
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
        }
        digits(date.year / 100)
        digits(date.year % 100)
        bytes.append(UInt8(ascii: "-"))
        digits(date.month)
        bytes.append(UInt8(ascii: "-"))
        digits(date.day)
        bytes.append(UInt8(ascii: " "))
        digits(second / 3_600)
        bytes.append(UInt8(ascii: ":"))
        digits(second / 60 % 60)
        bytes.append(UInt8(ascii: ":"))
        digits(second % 60)
    }

    /// The date as operators read it, `yyyy-MM-ddTHH:mm:ssZ` (ISO 8601, RFC 3339).
    public var iso8601: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        bytes[10] = UInt8(ascii: "T")
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A key for the `userInfo` of an encoder for operators, which then writes dates as ``iso8601``.
    public static let isForOperators = CodingUserInfoKey(rawValue: "WireDate.isForOperators")

    /// Decodes a JSON string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected yyyy-MM-dd HH:mm:ss")
        }
        self = value
    }

    /// Encodes as a JSON string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let isForOperators = Self.isForOperators.flatMap { encoder.userInfo[$0] } != nil
        try container.encode(isForOperators ? iso8601 : description)
    }
}

/// A date of the proleptic Gregorian calendar.
///
/// The conversions count years from 1 March, so that the leap day is the last day of a year, in identical eras of 400
/// years (146,097 days). Method: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// https://howardhinnant.github.io/date_algorithms.html
package struct CivilDate: Equatable {
    package var year: Int
    /// 1 to 12.
    package var month: Int
    /// 1 to 31.
    package var day: Int

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date `days` days after 1970-01-01, or before it if negative.
    package init(daysSince1970 days: Int) {
        let shifted = days + 719_468  // days since 0000-03-01
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days after 1970-01-01, negative before.
    package var daysSince1970: Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Number of days in a month.
    static func daysInMonth(_ month: Int, ofYear year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}
