public import Store

/// Compares the database's columns with those that the migrations of this release make.
///
/// That all of them were applied does not suffice: another release of MariaDB, or a person, may have made something else of it.
public enum SchemaCheck {
    private static let quoted = 5

    public static func judge(_ actual: Schema) -> Diagnosis {
        let differences = Schema.expected.differences(in: actual)
        guard !differences.isEmpty else {
            return .good(
                "schema", "the schema is the one of this release (\(MigrationRunner.newestStep)), column by column")
        }
        let more = differences.count > quoted ? "; and \(differences.count - quoted) more" : ""
        return Diagnosis(
            .columnsDiffer, differences.prefix(quoted).joined(separator: "; ") + more,
            fix:
                "ALTER TABLE ... MODIFY COLUMN by hand, after a backup: what to write is in the migrations, for collations in "
                + "0023_collations.sql")
    }
}
