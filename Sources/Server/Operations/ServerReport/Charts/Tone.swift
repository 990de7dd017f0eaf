import Posix

/// The meaning of a mark's colour; the page's style sheet defines the colours, for light and dark screens.
enum Tone {
    /// The main quantity.
    case main
    /// A less important part.
    case second
    /// The least important part.
    case third
    /// Needs attention.
    case warning
    /// A problem.
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

/// The meaning of a tone in a chart.
struct LegendEntry {
    var tone: Tone
    var meaning: String

    init(_ tone: Tone, _ meaning: String) {
        self.tone = tone
        self.meaning = meaning
    }
}
