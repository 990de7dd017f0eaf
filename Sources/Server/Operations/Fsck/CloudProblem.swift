/// What a check of the clouds can find.
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
                An object is not in its owner's storage, and phones are told that it is gone. The owner may find it in the \
                storage's bin; nothing else brings it back.
                """)
        case .objectReplaced:
            Judgement(
                .warning,
                "An object is gone, but another one has its name: a copy that its owner has put there, or restored.",
                repair: "takes that object for the file's, as the next download would")
        case .objectSizeDiffers:
            Judgement(.warning, "An object has another size than the file: somebody has changed it there.")
        case .objectChanged:
            Judgement(.warning, "An object has another hash than the file: somebody has changed it there.")
        case .objectOrphaned:
            Judgement(
                .warning, "An object of a file or device of this server is left over: nothing refers to it.",
                repair: "deletes the object, unless something refers to it by then")
        case .objectUnknown:
            Judgement(
                .warning,
                """
                An object has a name of ours, and nothing refers to it, but it may not be this server's to delete: see why \
                with each.
                """)
        case .objectForeign:
            Judgement(.note, "Something else is in a folder. It is never touched.")
        case .storageRefused:
            Judgement(.warning, "A storage refuses the server; the owner has to sign in again. Not checked.")
        case .storageUnavailable: Judgement(.warning, "A provider did not answer. Not checked; try again.")
        }
    }
}

/// What a check of the clouds has found so far: a limited number of rows for each problem, and what was repaired.
struct CloudFindings: Codable {
    /// Rows kept for each problem; one more than is shown, which says that there are more.
    private var rows: [CloudProblem: [Violation]] = [:]
    private var repaired: [CloudProblem: Int] = [:]

    init() {}

    mutating func note(_ problem: CloudProblem, _ violation: Violation, limit: Int) {
        guard rows[problem, default: []].count <= limit else { return }
        rows[problem, default: []].append(violation)
    }

    /// Adds what another part of the check has found.
    mutating func add(_ other: CloudFindings, limit: Int) {
        for (problem, violations) in other.rows {
            for violation in violations { note(problem, violation, limit: limit) }
        }
        for (problem, count) in other.repaired { repaired[problem, default: 0] += count }
    }

    mutating func noteRepair(_ problem: CloudProblem) { repaired[problem, default: 0] += 1 }

    /// The findings as they are reported, at most `limit` rows for each.
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
