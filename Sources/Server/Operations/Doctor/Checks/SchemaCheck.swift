public import Store

/// Compares the database's columns with those that this release's migrations create.
///
/// Applied migrations alone are no proof: another release of MariaDB, or a person, may have changed the result.
public enum SchemaCheck {
    private static let quoted = 5

    public static func judge(_ actual: Schema) -> Diagnosis {
        let differences = Schema.expected.differences(in: actual)
        guard !differences.isEmpty else {
            return .good(
                "schema", "the schema matches this release (\(MigrationRunner.newestStep)) in every column")
        }
        let more = differences.count > quoted ? "; and \(differences.count - quoted) more" : ""
        return Diagnosis(
            .columnsDiffer, differences.prefix(quoted).joined(separator: "; ") + more,
            fix:
                "ALTER TABLE ... MODIFY COLUMN by hand, after a backup: the migrations contain the definitions, "
                + "0023_collations.sql those of collations")
    }
}
