/// Integers in decimal digits, parsed without creating a `String`.
enum DecimalInteger {
    /// The integer that `text` represents, with an optional minus sign; a fraction of zeros is allowed, as in DECIMAL.
    static func parse(_ text: RawSpan) -> Int64? {
        var value: Int64 = 0
        var digits = 0
        var isNegative = false
        var inFraction = false
        for offset in 0..<text.byteCount {
            let byte = unsafe text.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
            switch byte {
            case UInt8(ascii: "-") where offset == 0:
                isNegative = true
            case UInt8(ascii: ".") where digits > 0 && !inFraction:
                inFraction = true
            case UInt8(ascii: "0") where inFraction:
                break
            case UInt8(ascii: "0")...UInt8(ascii: "9") where !inFraction:
                // Accumulated as a negative number, since only that range holds the smallest value.
                let (product, overflow) = value.multipliedReportingOverflow(by: 10)
                let (next, borrow) = product.subtractingReportingOverflow(Int64(byte - UInt8(ascii: "0")))
                guard !overflow, !borrow else { return nil }
                value = next
                digits += 1
            default:
                return nil
            }
        }
        guard digits > 0 else { return nil }
        if isNegative { return value }
        return value == .min ? nil : -value
    }
}
