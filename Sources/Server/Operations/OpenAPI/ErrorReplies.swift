import SyncProtocol

/// The error replies of all endpoints: replies with the same set of codes are described once.
struct ErrorReplies {
    /// The name of each set of codes; all codes of a set have the same status.
    private let names: [[ErrorCode]: String]

    static func ofAllEndpoints() -> ErrorReplies {
        var sets: Set<[ErrorCode]> = []
        for (route, description) in EndpointRoute.described {
            sets.formUnion(Self.sets(description.codes(route)).values)
        }
        var names: [[ErrorCode]: String] = [:]
        for (status, sets) in Dictionary(grouping: sets, by: { $0[0].status }) {
            let sorted = sets.sorted { $0.map(\.rawValue).joined() < $1.map(\.rawValue).joined() }
            for (index, set) in sorted.enumerated() {
                names[set] = sorted.count == 1 ? "Error\(status)" : "Error\(status)-\(index + 1)"
            }
        }
        return ErrorReplies(names: names)
    }

    /// The codes by status, sorted.
    private static func sets(_ codes: Set<ErrorCode>) -> [Int: [ErrorCode]] {
        Dictionary(grouping: codes, by: \.status).mapValues { $0.sorted { $0.rawValue < $1.rawValue } }
    }

    /// An operation's error replies, by status.
    func references(for codes: Set<ErrorCode>) -> [String: JSON] {
        var responses: [String: JSON] = [:]
        for (status, set) in Self.sets(codes) {
            guard let name = names[set] else { continue }
            responses["\(status)"] = ["$ref": .string("#/components/responses/\(name)")]
        }
        return responses
    }

    /// By name.
    var schemas: [String: JSON] {
        Dictionary(uniqueKeysWithValues: names.map { ($0.value, Schemas.error($0.key)) })
    }

    /// By name.
    func responses(headers: [String: JSON]) -> [String: JSON] {
        var responses: [String: JSON] = [:]
        for (codes, name) in names {
            let content: JSON = ["schema": Schemas.reference(name)]
            responses[name] = [
                "description": .string(codes.map(\.rawValue).joined(separator: ", ")), "headers": .object(headers),
                "content": ["application/json": content, "application/problem+json": content],
            ]
        }
        return responses
    }
}
