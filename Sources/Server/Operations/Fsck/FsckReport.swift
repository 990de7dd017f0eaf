/// The findings of `fsck`, and its repairs.
public struct FsckReport: Report {
    /// One repair.
    public struct Repair: Encodable, Equatable, Sendable {
        public var code: String
        public var action: String
        /// The number of rows or groups changed.
        public var rows: Int
    }

    /// The findings; after repairs, the remaining ones.
    public var findings: [Finding]
    public var repairs: [Repair]
    /// The number of objects checked in the clouds; absent if that was not requested.
    public var objectsChecked: Int?
    /// The number of owners' folders examined there; absent if only files were.
    public var foldersChecked: Int?

    public init(findings: [Finding], repairs: [Repair] = [], objectsChecked: Int? = nil) {
        self.findings = findings
        self.repairs = repairs
        self.objectsChecked = objectsChecked
    }

    /// Notes are not problems.
    public var isGood: Bool { findings.allSatisfy { $0.severity == .note } }

    public var lines: [String] {
        var lines = repairs.map { "repaired  \($0.code): \($0.action) (\(Quantity.of($0.rows, "row")))" }
        for finding in findings {
            lines.append("\(finding.severity.rawValue.padded(to: 8))  \(finding.code): \(finding.meaning)")
            for row in finding.rows { lines.append("            \(row.row): \(row.detail)") }
            if finding.more { lines.append("            … and more: --rows N") }
            if let repair = finding.repair { lines.append("            --repair \(repair)") }
        }
        if let objectsChecked {
            let folders = foldersChecked.map { ", in \(Quantity.of($0, "folder"))" } ?? ""
            lines.append("\(Quantity.of(objectsChecked, "object")) in the clouds checked\(folders)")
        }
        lines.append(isGood ? "clean" : "NOT CLEAN")
        return lines
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
