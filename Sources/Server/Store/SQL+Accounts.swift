package import MariaDB
import SyncProtocol

extension SQL {
    /// The types of accounts with storage, for `IN (…)`.
    package static let owningAccountTypes: SQL = "\(AccountType.allCases.filter { $0.cloudStorageType != nil })"

    /// How many digits the checksum of a file in each storage has, for a column `storage_type`.
    package static let checkSumDigits: SQL = {
        let cases = CloudStorageType.allCases.reduce("" as SQL) { cases, type in
            "\(cases) WHEN \([type]) THEN \(type.checkSumFlavour.digitCount)"
        }
        return "CASE storage_type\(cases) END"
    }()

    /// The hash under which an account is known, even after its user is removed.
    /// - Parameters:
    ///   - type: the account type.
    ///   - id: the provider's identifier of the user.
    package static func accountHash(_ type: SQL, _ id: SQL) -> SQL {
        "UNHEX(SHA2(CONCAT(\(type), ' ', \(id)), 256))"
    }
}
