import SyncProtocol

/// The error replies of all endpoints: replies with the same set of codes are described once.
struct ErrorReplies {
    /// The name of each set of codes; all codes of a set have the same status.
    private let names: [[ErrorCode]: String]

    static func ofAllEndpoints() -> ErrorReplies {
        var sets = Set(Self.sets(ErrorCode.anywhere).values)
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

// Codes that occur together.
extension ErrorCode {
    /// For any endpoint: about the query as a whole, from nginx, from the database, and defects.
    static let anywhere: Set<ErrorCode> = [
        .badRequest, .malformedQuery, .endpointUnknown, .notFound, .methodNotAllowed, .bodyTooLarge, .requestTooLong,
        .misdirectedRequest, .tooManyRequests, .busy, .internal, .serverError, .notImplemented, .serverUnavailable,
        .databaseUnavailable, .maintenance, .serverTimeout, .httpVersionNotSupported,
    ]
    /// For endpoints with parameters.
    static let parameters: Set<ErrorCode> = [
        .missingParameter, .repeatedParameter, .malformedParameter, .parameterTooLong, .parameterOutOfRange,
    ]
    /// For endpoints that require signing in.
    static let signingIn: Set<ErrorCode> = [
        .missingHeader, .malformedHeader, .credentialsMissing, .signInTypeNotAllowed, .credentialsRejected,
        .tooManyFailedSignIns, .providerUnavailable, .providerPaused, .providerBusy, .providerCircuitOpen,
        .providerMisconfigured, .cloudTimeout, .quotaCodeExchangeRate, .serverNotAllowed,
        .serverAcceptsAnyPassword, .storagePermissionMissing, .storageUnusable, .storageTermsNotAccepted,
    ]
    /// For endpoints whose caller must be a user.
    static let users: Set<ErrorCode> = [
        .userUnknown, .accountRetired, .staleEpoch, .tooManyDevices, .tooManySimultaneousRequests,
    ]
    /// For endpoints that exchange tokens.
    static let exchange: Set<ErrorCode> = [.authorizationCodeRejected, .storagePermissionMissing]
    /// For endpoints that stage a change.
    static let staging: Set<ErrorCode> = [.quotaStagedChanges, .quotaStagedBytes]
    /// For endpoints that use a cloud storage.
    static let storage: Set<ErrorCode> = [
        .cloudAuthorizationRevoked, .cloudUnavailable, .cloudRateLimited, .cloudRefused, .cloudTimeout,
        .cloudQuotaExceeded, .storageTermsNotAccepted,
    ]
    /// For requests that may complete a batch of changes, and so commit it.
    static let batches: Set<ErrorCode> = [
        .batchMismatch, .fileUnknown, .fileVersionMismatch, .appMetaDataVersionMismatch, .fileInOtherGroup,
        .ownerRemoved,
    ]
}
