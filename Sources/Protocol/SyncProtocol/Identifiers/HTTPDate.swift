/// A time in the form of HTTP headers: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7, the preferred form).
package struct HTTPDate: Equatable, Sendable {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    package let secondsSince1970: Int64

    /// `nil` for any other form.
    package init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[5] == "GMT", let day = Self.number(words[1], 2, 1...31),
            let month = Self.months.firstIndex(of: String(words[2])), let year = Self.number(words[3], 4, 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = Self.number(clock[0], 2, 0...23),
            let minute = Self.number(clock[1], 2, 0...59), let second = Self.number(clock[2], 2, 0...60)
        else { return nil }
        let days = CivilDate(year: Int(year), month: month + 1, day: Int(day)).daysSince1970
        secondsSince1970 = Int64(days) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    package init(secondsSince1970: Int64) { self.secondsSince1970 = secondsSince1970 }

    /// The time in the form of a header.
    package var text: String {
        let (days, second) = secondsSince1970.quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSince1970: Int(days))
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        let clock = [second / 3_600, second / 60 % 60, second % 60].map(Self.twoDigits).joined(separator: ":")
        let day = "\(Self.twoDigits(Int64(date.day))) \(Self.months[date.month - 1]) \(date.year)"
        return "\(weekday), \(day) \(clock) GMT"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func number(_ text: Substring, _ digits: Int, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(text),
            range.contains(value)
        else { return nil }
        return value
    }
}
