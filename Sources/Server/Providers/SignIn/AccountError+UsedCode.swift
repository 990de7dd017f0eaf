extension AccountError {
    /// What the failure of a call means after the one that has used up a code: not that the code may be sent again.
    var afterUseOfCode: AccountError {
        switch self {
        case .notAsked(_, let detail), .misconfigured(let detail): .unavailable(detail: detail)
        case .withheld(let reason): .unavailable(detail: "not asked: \(reason)")
        default: self
        }
    }
}
