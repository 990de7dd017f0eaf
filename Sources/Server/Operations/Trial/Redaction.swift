/// Removes confidential texts from a report, from any source. The report consists of our own words and providers'
/// codes; this protects against providers that repeat request values in their codes.
struct Redaction {
    /// Shorter texts are too likely to be parts of ordinary words.
    private static let shortest = 4

    /// The length of the longest word of our own, or of a provider's code.
    private static let longestWord = 40

    /// The number of consecutive characters of a confidential text that counts as a disclosure.
    private static let longestPart = 12

    private let texts: [String]
    /// All parts of that length of the texts.
    private let parts: Set<[UInt8]>

    init(_ texts: some Sequence<String>) {
        let texts = Set(texts).filter { $0.utf8.count >= Self.shortest }.sorted { $0.utf8.count > $1.utf8.count }
        self.texts = texts
        var parts: Set<[UInt8]> = []
        for bytes in texts.map({ Array($0.utf8) }) where bytes.count >= Self.longestPart {
            for start in 0...(bytes.count - Self.longestPart) {
                parts.insert(Array(bytes[start..<(start + Self.longestPart)]))
            }
        }
        self.parts = parts
    }

    /// The text of an error without words that cannot be codes: addresses, identifiers, and words with unusual
    /// characters.
    static func codes(in text: String) -> String {
        text.split(separator: " ").map { word in
            let isPlain =
                word.utf8.count <= longestWord
                && word.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "@") }
            return isPlain ? String(word) : "[…]"
        }.joined(separator: " ")
    }

    func applied(to text: String) -> String {
        texts.reduce(text) { text, secret in text.replacing(secret, with: "[…]") }
            .split(separator: " ", omittingEmptySubsequences: false)
            .map { repeatsPart(of: $0) ? "[…]" : String($0) }.joined(separator: " ")
    }

    /// Whether a word contains a part of one of the texts that is too long to be a coincidence.
    private func repeatsPart(of word: Substring) -> Bool {
        let word = Array(word.utf8)
        guard word.count >= Self.longestPart else { return false }
        return (0...(word.count - Self.longestPart)).contains {
            parts.contains(Array(word[$0..<($0 + Self.longestPart)]))
        }
    }

    func applied(to report: TrialReport) -> TrialReport {
        var report = report
        for index in report.steps.indices {
            report.steps[index].came = applied(to: report.steps[index].came)
            for call in report.steps[index].calls.indices {
                report.steps[index].calls[call].code = report.steps[index].calls[call].code.map(applied)
            }
        }
        return report
    }
}
