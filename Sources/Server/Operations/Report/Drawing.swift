import Posix
import SyncProtocol

/// An SVG picture with a width of ``width`` units, with a title and a description for screen readers. The units are CSS
/// pixels on a page of usual width; the picture scales with its column. Marks have the class `mark` and the class of
/// their tone.
struct Drawing {
    static let width = 400.0

    var height: Double
    private var contents = HTMLText()

    init(height: Double) { self.height = height }

    /// The element.
    /// - Parameter id: unique within the page, of letters and hyphens.
    func svg(id: String, title: String, description: String) -> HTMLText {
        """
        <svg role="img" viewBox="0 0 \(Self.number(Self.width)) \(Self.number(height))" aria-labelledby="\(id)-title" \
        aria-describedby="\(id)-description">
        <title id="\(id)-title">\(title)</title>
        <desc id="\(id)-description">\(description)</desc>
        \(contents)</svg>

        """
    }

    /// Adds a bar.
    /// - Parameter tip: the text for a pointer that rests on it.
    mutating func addBar(x: Double, y: Double, width: Double, height: Double, _ tone: Tone, tip: String) {
        contents += """
            <rect class="mark \(tone.className)" x="\(Self.number(x))" y="\(Self.number(y))" \
            width="\(Self.number(width))" height="\(Self.number(height))"><title>\(tip)</title></rect>

            """
    }

    /// Adds the area that a bar could fill.
    mutating func addTrack(x: Double, y: Double, width: Double, height: Double) {
        contents += """
            <rect class="track" x="\(Self.number(x))" y="\(Self.number(y))" width="\(Self.number(width))" \
            height="\(Self.number(height))"/>

            """
    }

    /// Adds a stepped line through points, and fills the area between it and `floor`, if given.
    mutating func addSteps(_ points: [(x: Double, y: Double)], _ tone: Tone, floor: Double?) {
        guard let first = points.first else { return }
        var path = "M\(Self.number(first.x)) \(Self.number(first.y))"
        for point in points.dropFirst() { path += "H\(Self.number(point.x))V\(Self.number(point.y))" }
        if let floor {
            let area = path + "V\(Self.number(floor))H\(Self.number(first.x))Z"
            contents += "<path class=\"area \(tone.className)\" d=\"\(area)\"/>\n"
        }
        contents += "<path class=\"mark line \(tone.className)\" d=\"\(path)\"/>\n"
    }

    mutating func addRule(from start: (x: Double, y: Double), to end: (x: Double, y: Double)) {
        contents += """
            <line class="rule" x1="\(Self.number(start.x))" y1="\(Self.number(start.y))" x2="\(Self.number(end.x))" \
            y2="\(Self.number(end.y))"/>

            """
    }

    /// The position of a text relative to its point.
    enum Alignment {
        case left
        case middle
        case right
    }

    mutating func addText(_ text: String, x: Double, y: Double, _ alignment: Alignment = .left, isQuiet: Bool = false) {
        let anchor: HTMLText =
            switch alignment {
            case .left: "start"
            case .middle: "middle"
            case .right: "end"
            }
        let tone: HTMLText = isQuiet ? " class=\"quiet\"" : ""
        contents += """
            <text\(tone) x="\(Self.number(x))" y="\(Self.number(y))" text-anchor="\(anchor)">\(text)</text>

            """
    }

    /// Rounded to a tenth of a unit.
    private static func number(_ value: Double) -> String {
        let tenths = (value * 10).rounded()
        return tenths.remainder(dividingBy: 10) == 0 ? "\(Int(tenths / 10))" : "\(tenths / 10)"
    }
}

/// A value with its name on an axis.
struct Tick: Equatable {
    var value: Double
    var label: String

    /// Whole round numbers from 0 to the first one that is not below `maximum`, two to six of them.
    static func wholeNumbers(upTo maximum: Int) -> [Tick] {
        let maximum = max(1, maximum)
        // 1, 2, 5, 10, 20, 50, …
        var step = 1.0
        var factors = [2.0, 2.5, 2.0][...]
        while Double(maximum) > step * 5 {
            step *= factors.first ?? 2
            factors = factors.count > 1 ? factors.dropFirst() : [2.0, 2.5, 2.0][...]
        }
        let count = Int((Double(maximum) / step).rounded(.up))
        return (0...count).map { Tick(value: Double($0) * step, label: Quantity.rounded(Double($0) * step)) }
    }
}

extension Tick {
    /// The number of dates that fit on an axis.
    private static let maximumDates = 5
    /// A shorter period contains too few beginnings of months.
    private static let manyDays = 62
    private static let monthSteps = [1, 2, 3, 6] + [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000].map { $0 * 12 }

    /// Dates between two days, in days since 1970-01-01: beginnings of months such as `2026-11` or of years such as
    /// `2026`, or, within two months, days such as `11-25`, including the last day.
    ///
    /// They are evenly spaced in the calendar; their number fits on the axis.
    static func dates(from first: Int, to last: Int) -> [Tick] {
        guard last >= first else { return [] }
        if last - first <= manyDays {
            let step = [1, 2, 5, 7, 14].first { (last - first) / $0 < maximumDates } ?? 14
            let days = stride(from: last, through: first, by: -step).reversed()
            return days.map { Tick(value: Double($0), label: String(GrowthCurve.date(ofDay: $0).dropFirst(5))) }
        }
        let months = Self.month(of: first)...Self.month(of: last)
        let step = monthSteps.first { months.count / $0 < maximumDates } ?? 1
        let length = step % 12 == 0 ? 4 : 7
        return months.filter { $0 % step == 0 }.compactMap { month in
            let start = WireDate(year: month / 12, month: month % 12 + 1, day: 1, hour: 0, minute: 0, second: 0)
            // The first day's month began earlier, unless the day is the first of the month.
            guard let day = start.map(GrowthCurve.day(of:)), day >= first else { return nil }
            return Tick(value: Double(day), label: String(GrowthCurve.date(ofDay: day).prefix(length)))
        }
    }

    /// Months since the beginning of the year 0.
    private static func month(of day: Int) -> Int {
        let parts = GrowthCurve.date(ofDay: day).split(separator: "-").compactMap { Int($0) }
        return parts[0] * 12 + parts[1] - 1
    }
}
