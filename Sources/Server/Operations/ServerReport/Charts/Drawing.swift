import Posix

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
