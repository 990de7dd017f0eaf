/// Decimal numbers without sign, blanks, exponent or anything else.
package enum StrictDecimal {
    /// The number that the digits in `text` stand for.
    ///
    /// Nil if there is no digit, if there is any other byte (so `+5`, `-5` and ` 5` are refused), or if the number does
    /// not fit `type`. Leading zeros are accepted.
    package static func parse<Number: FixedWidthInteger>(
        _ text: some Sequence<UInt8>, as type: Number.Type = Number.self
    ) -> Number? {
        var number: Number?
        for byte in text {
            guard byte &- 0x30 < 10 else { return nil }
            let (shifted, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.addingReportingOverflow(Number(truncatingIfNeeded: byte &- 0x30))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }
}
