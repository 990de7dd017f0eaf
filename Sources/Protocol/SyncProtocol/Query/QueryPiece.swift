/// The text between two `&` of a query.
struct QueryPiece: Equatable {
    /// First byte of the piece.
    let start: Int
    /// One past the last byte of the piece.
    let end: Int
    /// The parameter that the piece starts, if it begins with a known name and `=`: an index into the list's entries.
    let entry: Int?
    /// First byte after the first `=`; meaningful only if there is an `entry`.
    let valueStart: Int

    /// Splits at every `&`, and looks up the names.
    ///
    /// A name may itself be percent-encoded, although no known client does that.
    static func split(_ query: [UInt8], parameters: ParameterList) -> [QueryPiece] {
        guard !query.isEmpty else { return [] }
        var pieces: [QueryPiece] = []
        var start = 0
        var equals: Int?
        func finish(at end: Int) {
            let entry = equals.flatMap { index(of: query[start..<$0], in: parameters) }
            pieces.append(QueryPiece(start: start, end: end, entry: entry, valueStart: (equals ?? end - 1) + 1))
        }
        for (position, byte) in query.enumerated() {
            if byte == UInt8(ascii: "&") {
                finish(at: position)
                start = position + 1
                equals = nil
            } else if byte == UInt8(ascii: "="), equals == nil {
                equals = position
            }
        }
        finish(at: query.count)
        return pieces
    }

    private static func index(of name: ArraySlice<UInt8>, in parameters: ParameterList) -> Int? {
        guard name.contains(UInt8(ascii: "%")) else { return parameters.index(named: name) }
        guard let decoded = try? PercentEncoding.decodeText(name) else { return nil }
        return parameters.index(named: Array(decoded.utf8))
    }
}
