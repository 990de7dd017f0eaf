/// What `fsck` found, and what it did about it.
public struct FsckReport: Report {
    /// What was repaired.
    public struct Repair: Encodable, Equatable, Sendable {
        public var code: String
        public var action: String
        /// Rows, or groups, that were changed.
        public var rows: Int
    }

    /// What was found; after repairs, what is left.
    public var findings: [Finding]
    public var repairs: [Repair]
    /// How many objects were checked in the clouds; absent if that was not requested.
    public var objectsChecked: Int?
    /// How many owners' folders were examined there; absent if only files were.
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
