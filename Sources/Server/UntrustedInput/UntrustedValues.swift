extension Int64 {
    /// The integer part of a number, or the nearest that fits; 0 for NaN. Unlike `Int64(_:)` it never traps.
    public init(saturating number: Double) {
        if number.isNaN {
            self = 0
        } else if number >= 0x1p63 {
            self = .max
        } else if number < -0x1p63 {
            self = .min
        } else {
            self = Int64(number)
        }
    }

    /// The difference, or the nearest number that fits.
    public func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        if overflow { return other > 0 ? .min : .max }
        return difference
    }
}

extension Duration {
    /// A number of seconds from an external source, clamped to the range from zero to ten years.
    public static func untrusted(seconds: Double) -> Duration {
        .seconds(Swift.min(Swift.max(0, Int64(saturating: seconds)), 315_360_000))
    }
}

extension StringProtocol {
    /// Whether it consists of 1 to `maximum` visible ASCII characters, suitable for a header field and a column of
    /// identifiers.
    public func isIdentifier(upTo maximum: Int) -> Bool {
        (1...maximum).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Its beginning, with at most `maximum` Unicode scalars, the unit of a column's length.
    public func limited(toScalars maximum: Int) -> String {
        guard unicodeScalars.count > maximum else { return String(self) }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(maximum)))
    }
}
