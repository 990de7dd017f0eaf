import Testing

@testable import Operations

@Suite("Numbers for people")
struct QuantityTests {
    @Test(
        "Durations have two significant digits, in the unit that people use",
        arguments: [
            (0, "0 ms"), (0.000_01, "< 0.1 ms"), (0.000_53, "0.5 ms"), (0.006_1, "6.1 ms"), (0.0999, "100 ms"),
            (0.9996, "1 s"), (2.25, "2.3 s"), (61, "61 s"), (150, "2.5 min"), (1e300, "16666667 min"),
            (.infinity, "16666667 min"), (-3, "0 ms"),
        ] as [(Double, String)])
    func durations(seconds: Double, text: String) { #expect(Quantity.duration(seconds) == text) }

    @Test(
        "Numbers on axes are short",
        arguments: [(0, "0"), (2.5, "2.5"), (950, "950"), (999.6, "1k"), (1_500, "1.5k"), (20e6, "20M"), (1e19, "10E")]
            as [(Double, String)])
    func rounded(number: Double, text: String) { #expect(Quantity.rounded(number) == text) }

    @Test(
        "Estimates have two digits",
        arguments: [
            (0, "about 0"), (99, "about 99"), (104, "about 100"), (1_251, "about 1,300"), (999_999, "about 1,000,000"),
        ] as [(Int, String)])
    func estimated(number: Int, text: String) { #expect(Quantity.about(number) == text) }

    @Test(
        "Counts have thousands separators",
        arguments: [
            (0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567"), (.min, "-9,223,372,036,854,775,808"),
        ]
            as [(Int, String)])
    func grouped(number: Int, text: String) { #expect(Quantity.grouped(number) == text) }
}
