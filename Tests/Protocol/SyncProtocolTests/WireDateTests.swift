import Foundation
import SyncProtocol
import Testing

@Suite("Dates")
struct WireDateTests {
    @Test(
        "Known dates are written in the clients' format, and read back",
        arguments: [
            (0, "1970-01-01 00:00:00"), (-1, "1969-12-31 23:59:59"), (951_782_400, "2000-02-29 00:00:00"),
            (1_588_325_400, "2020-05-01 09:30:00"), (4_107_542_399, "2100-02-28 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"), (-62_135_596_800, "0001-01-01 00:00:00"),
            (253_402_300_799, "9999-12-31 23:59:59"), (2_147_483_648, "2038-01-19 03:14:08"),
        ] as [(Int64, String)])
    func knownDates(seconds: Int64, text: String) {
        #expect(WireDate(secondsSince1970: seconds).description == text)
        #expect(WireDate(text)?.secondsSince1970 == seconds)
    }

    @Test(
        "Only real dates in the exact format are accepted",
        arguments: [
            "", "0000-00-00 00:00:00", "0000-01-01 00:00:00", "2020-02-30 00:00:00", "2019-02-29 00:00:00",
            "1900-02-29 00:00:00", "2020-13-01 00:00:00", "2020-01-01 24:00:00", "2020-01-01 23:60:00",
            "2020-01-01 23:59:60", "2020-01-01T00:00:00", "2020-01-01 00:00:00Z", "2020-01-01 00:00:00.5",
            "2020-01-01", " 020-01-01 00:00:00", "2020-01-01 00:00:0a", "-001-01-01 00:00:00", "2020/01/01 00:00:00",
        ])
    func malformed(text: String) {
        #expect(WireDate(text) == nil)
    }

    @Test("Every day from 1600 to 2400 agrees with Foundation's calendar, and round-trips")
    func agreesWithFoundation() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let first = try #require(WireDate("1600-01-01 12:34:56")).secondsSince1970
        for day in stride(from: 0, to: 292_000, by: 1) {
            let date = WireDate(secondsSince1970: first + Int64(day) * 86_400)
            try #require(WireDate(date.description) == date)
            guard day % 97 == 0 else { continue }
            let parts = calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second],
                from: Date(timeIntervalSince1970: Double(date.secondsSince1970)))
            let same = WireDate(
                year: try #require(parts.year), month: try #require(parts.month), day: try #require(parts.day),
                hour: try #require(parts.hour), minute: try #require(parts.minute), second: try #require(parts.second))
            try #require(same == date)
        }
    }

    @Test("Dates beyond the years 1 to 9999 are clamped")
    func clamps() {
        #expect(WireDate(secondsSince1970: .max) == .latest)
        #expect(WireDate(secondsSince1970: .min) == .earliest)
    }
}
