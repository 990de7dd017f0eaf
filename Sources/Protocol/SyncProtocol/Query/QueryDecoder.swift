/// Parses a query string into the parameters of one endpoint.
///
/// The rules are those of the protocol, section 1.2, and differ from those of HTML forms, because clients encode
/// neither `+` nor `&`:
///
/// - A piece between two `&` starts a parameter only if it begins with one of the endpoint's names and `=`. Any other
///   piece belongs to the value before it if that is free text, with its `&` restored; otherwise it is unknown and
///   ignored.
/// - Until the text of `appMetaData` is a complete JSON value, every following piece belongs to it.
/// - Names and values are percent-decoded exactly once, after splitting; `+` is a plus sign. A malformed escape or
///   invalid UTF-8 anywhere is an error.
/// - For a repeated parameter, see ``RepeatedParameterRecovery``.
///
/// The work is linear in the length of the query.
public enum QueryDecoder {
    /// Maximum length of a query, in bytes: what FastCGI parameters can hold when nginx forwards them.
    public static let maximumQueryBytes = 65_535

    /// The range of a parameter's value in the query, in bytes of the raw text.
    struct Assignment: Equatable {
        let entry: Int
        let start: Int
        var end: Int
    }

    /// Parses a query.
    /// - Parameter query: The raw query, without the `?`; `QUERY_STRING` of FastCGI.
    /// - Throws: ``RequestError/brokenEscape``, ``RequestError/invalidUTF8``, ``RequestError/repeated(_:)``,
    ///   ``RequestError/queryTooLong(maximumBytes:)``. Missing or malformed parameters are reported when they are read.
    public static func decode(
        _ query: [UInt8], parameters: ParameterList
    ) throws(RequestError) -> DecodedQuery {
        guard query.count <= maximumQueryBytes else { throw .queryTooLong(maximumBytes: maximumQueryBytes) }
        let pieces = QueryPiece.split(query, parameters: parameters)
        let assignments = try assign(pieces, of: query, parameters: parameters)
        var values: [DecodedQuery.Parameter] = []
        values.reserveCapacity(assignments.count)
        for assignment in assignments {
            let text = try PercentEncoding.decodeText(query[assignment.start..<assignment.end])
            values.append(.init(name: parameters.entries[assignment.entry].name, text: text))
        }
        return DecodedQuery(values: values)
    }

    /// Parses a query; see ``decode(_:parameters:)-([UInt8],_)``.
    public static func decode(
        _ query: some StringProtocol, parameters: ParameterList
    ) throws(RequestError) -> DecodedQuery {
        try decode(Array(query.utf8), parameters: parameters)
    }

    /// Decides for each piece whether it starts a parameter, belongs to the one before, or is ignored.
    private static func assign(
        _ pieces: [QueryPiece], of query: [UInt8], parameters: ParameterList
    ) throws(RequestError) -> [Assignment] {
        var assignments: [Assignment] = []
        var isGiven = [Bool](repeating: false, count: parameters.entries.count)
        var metadata: JSONCompletenessScanner?
        for piece in pieces {
            if metadata?.isComplete == false {
                metadata?.scan(UInt8(ascii: "&"))
                try PercentEncoding.decode(query[piece.start..<piece.end]) { metadata?.scan($0) }
                assignments[assignments.count - 1].end = piece.end
            } else if let entry = piece.entry {
                guard !isGiven[entry] else {
                    return try RepeatedParameterRecovery.assign(
                        pieces, parameters: parameters, repeated: parameters.entries[entry].name)
                }
                isGiven[entry] = true
                assignments.append(Assignment(entry: entry, start: piece.valueStart, end: piece.end))
                if parameters.entries[entry].name == .appMetaData {
                    var scanner = JSONCompletenessScanner()
                    try PercentEncoding.decode(query[piece.valueStart..<piece.end]) { scanner.scan($0) }
                    metadata = scanner
                }
            } else if let last = assignments.last, parameters.entries[last.entry].isFreeText {
                assignments[assignments.count - 1].end = piece.end
            } else if piece.start < piece.end {
                _ = try PercentEncoding.decodeText(query[piece.start..<piece.end])
            }
        }
        return assignments
    }
}
