/// The result of one check on a host.
public struct Diagnosis: Encodable, Equatable, Sendable {
    public enum Verdict: String, Encodable, Equatable, Sendable {
        case good
        /// Nothing that has to be done; or something that could not be checked, which may be fine.
        case unknown
        /// Works, but somebody should investigate.
        case warning
        /// Does not work.
        case bad
    }

    /// Stable, as ``DiagnosisCode/check``; the sockets of both roles are `apiSocket` and `transferSocket`.
    public var check: String
    public var verdict: Verdict
    /// Which one it is of those that docs/operations.md lists; absent if all is well.
    public var code: DiagnosisCode?
    /// What is the case, in one sentence.
    public var finding: String
    /// What users notice; absent if they notice nothing.
    public var effect: String?
    /// What to do; absent if nothing is.
    public var fix: String?
    /// Whether the operator has said that it does not matter.
    public var ignored = false

    /// Something that the operator should know.
    /// - Parameter check: if it is not that of the code.
    public init(_ code: DiagnosisCode, _ finding: String, fix: String?, check: String? = nil) {
        self.check = check ?? code.check
        self.code = code
        verdict = code.verdict
        self.finding = finding
        effect = code.effect
        self.fix = fix
    }

    private init(good check: String, _ finding: String) {
        self.check = check
        verdict = .good
        self.finding = finding
    }

    /// All is well.
    public static func good(_ check: String, _ finding: String) -> Diagnosis { Diagnosis(good: check, finding) }
}
