/// Takes texts out of a report that must not be in it, whoever wrote them there.
///
/// The report is made of words of our own and of providers' codes; this is for a provider that repeats in its code what it
/// was sent.
struct Redaction {
    /// Shorter texts are too likely to be parts of words.
    private static let shortest = 4

    /// The longest word of ours, or code of a provider.
    private static let longestWord = 40

    private let texts: [String]

    init(_ texts: some Sequence<String>) {
        self.texts = Set(texts).filter { $0.utf8.count >= Self.shortest }.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// The text of an error without words that can be no code: addresses, identifiers, and what has unusual characters.
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
