import Posix

/// What the colour of a mark says; the page's style sheet has the colours, for light and dark screens.
enum Tone {
    /// The thing itself.
    case main
    /// More of it, which counts less.
    case second
    /// And still less.
    case third
    /// Somebody should look.
    case warning
    /// Wrong.
    case bad

    /// The class in the style sheet.
    var className: HTMLText {
        switch self {
        case .main: "main"
        case .second: "second"
        case .third: "third"
        case .warning: "warning"
        case .bad: "bad"
        }
    }
}

/// What a tone stands for in a chart.
struct LegendEntry {
    var tone: Tone
    var meaning: String

    init(_ tone: Tone, _ meaning: String) {
        self.tone = tone
        self.meaning = meaning
    }
}
