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

/// The parameters of one request, decoded from the query and not yet interpreted.
public struct DecodedQuery: Sendable {
    struct Parameter: Sendable {
        let name: ParameterName
        let text: String
    }

    let values: [Parameter]

    /// The text of a parameter; nil if it was not given. Empty text is a value.
    public func text(_ name: ParameterName) -> String? {
        values.first { $0.name == name }?.text
    }

    /// The value of a parameter that may be omitted.
    /// - Throws: ``RequestError/malformed(_:expected:)``.
    public func optional<Value: QueryValue>(
        _ name: ParameterName, as type: Value.Type = Value.self
    ) throws(RequestError) -> Value? {
        guard let text = text(name) else { return nil }
        guard let value = Value(queryText: text) else { throw .malformed(name, expected: Value.expectedForm) }
        return value
    }

    /// The value of a required parameter.
    /// - Throws: ``RequestError/missing(_:)``, ``RequestError/malformed(_:expected:)``.
    public func required<Value: QueryValue>(
        _ name: ParameterName, as type: Value.Type = Value.self
    ) throws(RequestError) -> Value {
        guard let value = try optional(name, as: type) else { throw .missing(name) }
        return value
    }

    /// Free text that may be omitted, of at most `maximumCharacters` Unicode scalars.
    /// - Throws: ``RequestError/tooLong(_:maximumCharacters:)``.
    public func optionalText(_ name: ParameterName, maximumCharacters: Int) throws(RequestError) -> String? {
        guard let text = text(name) else { return nil }
        guard text.unicodeScalars.count <= maximumCharacters else {
            throw .tooLong(name, maximumCharacters: maximumCharacters)
        }
        return text
    }
}

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

/// Interprets a query in which a parameter seems to occur twice.
///
/// No client repeats a parameter. An apparent repetition is free text that contains `&`, a parameter's name and `=`.
/// Clients send names in ascending order and always send required parameters, so the intended query is one of its
/// *readings*. A reading chooses which `name=` pieces start a parameter, such that names ascend strictly, every
/// required one is present, and each piece that starts none follows free text (where it is restored) or, if it does not
/// begin with a known name, another parameter (where it is ignored). If there is exactly one reading, it must be the
/// intended one; otherwise the request is rejected.
///
/// Readings are counted from left to right, by the parameter that was started last; the names ascend, so a list of n
/// parameters needs n states, and the work is linear in the number of pieces.
enum RepeatedParameterRecovery {
    /// All readings so far that end in the same parameter: one of them, and whether there are more.
    private struct Readings {
        var example: [QueryDecoder.Assignment]
        var isUnique: Bool
    }

    /// The only reading of a query.
    /// - Throws: ``RequestError/repeated(_:)`` with `name` if there is none or more than one.
    static func assign(
        _ pieces: [QueryPiece], parameters: ParameterList, repeated name: ParameterName
    ) throws(RequestError) -> [QueryDecoder.Assignment] {
        guard parameters.hasFreeText else { throw .repeated(name) }
        // The state before the first parameter comes first, then one state per parameter.
        var states = [Readings?](repeating: nil, count: parameters.entries.count + 1)
        states[0] = Readings(example: [], isUnique: true)
        for piece in pieces {
            var next = [Readings?](repeating: nil, count: states.count)
            for (state, readings) in states.enumerated() {
                guard var readings else { continue }
                if let entry = piece.entry, entry + 1 > state {
                    var started = readings
                    started.example.append(.init(entry: entry, start: piece.valueStart, end: piece.end))
                    add(started, to: &next[entry + 1])
                }
                if state > 0, parameters.entries[state - 1].isFreeText {
                    readings.example[readings.example.count - 1].end = piece.end
                    add(readings, to: &next[state])
                } else if piece.entry == nil {
                    add(readings, to: &next[state])
                }
            }
            states = next
        }
        var result: Readings?
        for case let readings? in states where hasAllRequired(readings, parameters) {
            add(readings, to: &result)
        }
        guard let result, result.isUnique else { throw .repeated(name) }
        return result.example
    }

    private static func add(_ readings: Readings, to slot: inout Readings?) {
        if slot == nil {
            slot = readings
        } else {
            slot?.isUnique = false
        }
    }

    private static func hasAllRequired(_ readings: Readings, _ parameters: ParameterList) -> Bool {
        let given = Set(readings.example.map(\.entry))
        return parameters.entries.indices.allSatisfy { given.contains($0) || !parameters.entries[$0].isRequired }
    }
}

/// Determines, byte by byte, whether the text so far is a complete JSON value.
///
/// It follows brackets, strings and escapes only. For text that is valid JSON so far, the answer is exact; text that is
/// not JSON may be reported complete or not, and is rejected by its parser.
struct JSONCompletenessScanner {
    private enum State {
        case beforeValue
        case inValue
        case inString
        case afterBackslash
        case inScalar
        case complete
        case invalid
    }

    private var state = State.beforeValue
    private var depth = 0

    /// Whether the text scanned so far is a complete value, with at most whitespace around it.
    ///
    /// A number or literal outside any brackets counts as complete after each of its characters.
    var isComplete: Bool { state == .complete || state == .inScalar }

    /// Scans the next byte.
    mutating func scan(_ byte: UInt8) {
        switch state {
        case .inString:
            if byte == UInt8(ascii: "\\") {
                state = .afterBackslash
            } else if byte == UInt8(ascii: "\"") {
                state = depth == 0 ? .complete : .inValue
            }
        case .afterBackslash:
            state = .inString
        case .beforeValue, .inValue:
            scanOutsideString(byte)
        case .inScalar, .complete:
            if Self.isBlank(byte) {
                state = .complete
            } else if state == .complete {
                state = .invalid
            }
        case .invalid:
            break
        }
    }

    private mutating func scanOutsideString(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            state = .inValue
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            depth -= 1
            state = depth == 0 ? .complete : depth < 0 ? .invalid : .inValue
        case UInt8(ascii: "\""):
            state = .inString
        default:
            if depth == 0, !Self.isBlank(byte) { state = .inScalar }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}
