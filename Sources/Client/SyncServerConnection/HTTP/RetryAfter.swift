import Foundation
import SyncProtocol

/// The value of `Retry-After` (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// The wait from `now`; nil if the value is neither seconds nor a date. A date in the past means zero.
    static func duration(_ value: String, now: Date) -> Duration? {
        let text = value.trimmingCharacters(in: .whitespaces)
        if let seconds = Int64(text) { return .seconds(max(0, seconds)) }
        guard let date = date(text) else { return nil }
        return .seconds(max(0, date.secondsSince1970 - Int64(now.timeIntervalSince1970)))
    }

    /// Parses an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that senders may generate today (section
    /// 5.6.7).
    private static func date(_ text: String) -> WireDate? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        let time = parts[4].split(separator: ":").compactMap { Int($0) }
        guard let day = Int(parts[1]), let year = Int(parts[3]), time.count == 3 else { return nil }
        return WireDate(year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2])
    }
}
