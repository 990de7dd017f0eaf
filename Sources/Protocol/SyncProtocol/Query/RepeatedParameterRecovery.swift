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
