extension AccountError {
    /// The meaning of a call's failure after an earlier call has used up a code: the code must not be sent again.
    var afterUseOfCode: AccountError {
        switch self {
        case .notAsked(_, let detail), .misconfigured(let detail): .unavailable(detail: detail)
        case .withheld(let reason): .unavailable(detail: "not asked: \(reason)")
        default: self
        }
    }
}
