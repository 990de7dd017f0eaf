/// How often what happened.
struct Tally: CustomStringConvertible {
    var operations = 0
    var observations = 0
    var refused = 0
    var stale = 0
    /// Downloads that went on, and those of them whose file had been replaced meanwhile.
    var resumed = 0
    var resumedAfterReplacement = 0
    /// What phones with an address in a storage did with it.
    var direct: [String: Int] = [:]
    /// What became of switches of accounts that were begun.
    var switches: [String: Int] = [:]
    var disturbed: [String: Int] = [:]
    /// How long they took, with what was looked at afterwards.
    var time: [String: Duration] = [:]
    var endpoints: [String: Int] = [:]
    /// The most states between which the test could not decide.
    var mostPossibilities = 1

    var description: String {
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }
        let milliseconds = time.mapValues { Int($0 / .milliseconds(1)) }
        return """
            \(operations) operations (\(list(endpoints))), of them \(refused) refused and \(stale) stale; \
            \(resumed) downloads resumed, \(resumedAfterReplacement) of them after a replacement; \
            uploads with an address: \(list(direct)); account switches: \(list(switches)); disturbances: \(list(disturbed)), in ms: \(list(milliseconds)); \(observations) observations; at most \(mostPossibilities) \
            possible states
            """
    }
}
