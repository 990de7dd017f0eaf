/// The statistics of a run.
struct Tally: CustomStringConvertible {
    var operations = 0
    var observations = 0
    var refused = 0
    var stale = 0
    /// The number of resumed downloads, and how many of their files had been replaced meanwhile.
    var resumed = 0
    var resumedAfterReplacement = 0
    /// How phones used addresses in a storage.
    var direct: [String: Int] = [:]
    /// The outcomes of account switches.
    var switches: [String: Int] = [:]
    var disturbed: [String: Int] = [:]
    /// The time of each disturbance, including the observations afterwards.
    var time: [String: Duration] = [:]
    var endpoints: [String: Int] = [:]
    /// The maximum number of states that the test could not distinguish.
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
