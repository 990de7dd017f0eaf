/// The problems that a check of the clouds can find.
enum CloudProblem: String, CaseIterable, Codable {
    case objectMissing
    case objectReplaced
    case objectSizeDiffers
    case objectChanged
    case objectOrphaned
    case objectUnknown
    case objectForeign
    case storageRefused
    case storageUnavailable

    var judgement: Judgement {
        switch self {
        case .objectMissing:
            Judgement(
                .error,
                """
                An object is missing from its owner's storage, and phones get the reply that it is gone. The owner may \
                find it in the storage's bin; there is no other way to restore it.
                """)
        case .objectReplaced:
            Judgement(
                .warning,
                "An object is gone, but another one has its name: a copy that its owner has created or restored.",
                repair: "uses that object for the file, as the next download would")
        case .objectSizeDiffers:
            Judgement(.warning, "An object's size differs from the file's: somebody has changed it in the storage.")
        case .objectChanged:
            Judgement(.warning, "An object's hash differs from the file's: somebody has changed it in the storage.")
        case .objectOrphaned:
            Judgement(
                .warning, "An object of a file or device of this server is unused: nothing refers to it.",
                repair: "deletes the object unless something refers to it by then")
        case .objectUnknown:
            Judgement(
                .warning,
                """
                An unreferenced object has a name of this server's form, but may not belong to this server, which \
                therefore does not delete it; each row names the reason.
                """)
        case .objectForeign:
            Judgement(.note, "A folder contains a foreign object. It is never changed.")
        case .storageRefused:
            Judgement(.warning, "A storage denies the server access; the owner has to sign in again. Not checked.")
        case .storageUnavailable: Judgement(.warning, "A provider did not answer. Not checked; try again.")
        }
    }
}

/// The findings of a check of the clouds so far: a limited number of rows for each problem, and the repairs.
struct CloudFindings: Codable {
    /// The rows kept for each problem; one more than the limit, to detect that there are more.
    private var rows: [CloudProblem: [Violation]] = [:]
    private var repaired: [CloudProblem: Int] = [:]

    init() {}

    mutating func note(_ problem: CloudProblem, _ violation: Violation, limit: Int) {
        guard rows[problem, default: []].count <= limit else { return }
        rows[problem, default: []].append(violation)
    }

    /// Adds the findings of another part of the check.
    mutating func add(_ other: CloudFindings, limit: Int) {
        for (problem, violations) in other.rows {
            for violation in violations { note(problem, violation, limit: limit) }
        }
        for (problem, count) in other.repaired { repaired[problem, default: 0] += count }
    }

    mutating func noteRepair(_ problem: CloudProblem) { repaired[problem, default: 0] += 1 }

    /// The findings for the report, with at most `limit` rows each.
    func findings(limit: Int) -> [Finding] {
        CloudProblem.allCases.compactMap { problem in
            guard let rows = rows[problem], !rows.isEmpty else { return nil }
            let judgement = problem.judgement
            return Finding(
                code: problem.rawValue, severity: judgement.severity, meaning: judgement.meaning,
                repair: judgement.repair, rows: Array(rows.prefix(limit)), more: rows.count > limit)
        }
    }

    var repairs: [FsckReport.Repair] {
        CloudProblem.allCases.compactMap { problem in
            guard let count = repaired[problem], let action = problem.judgement.repair else { return nil }
            return FsckReport.Repair(code: problem.rawValue, action: action, rows: count)
        }
    }
}
