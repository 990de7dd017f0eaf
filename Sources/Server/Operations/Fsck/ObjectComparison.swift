import Providers
import Store
import SyncProtocol

/// How an object differs from the row of its file.
enum ObjectComparison: Equatable {
    /// The provider's hash matches the file's.
    case equal
    /// The provider reports no hash, or none is stored here, and nothing else differs.
    case alike
    case otherSize(String)
    case otherHash(String)

    /// Compares the provider's description with the row; values that either side does not know are skipped.
    init(_ object: StoredObject, with file: FileRecord) {
        if let size = file.sizeBytes, size != object.sizeBytes {
            self = .otherSize("\(size) bytes here, \(object.sizeBytes) there")
            return
        }
        // If the provider's hash is the checksum, no other hash is stored.
        let expected =
            file.providerHash ?? (file.owningUser.storageType.reportsCheckSum ? file.checkSum?.rawValue : nil)
        guard let expected, let present = object.providerHash else {
            self = .alike
            return
        }
        self =
            expected.lowercased() == present.lowercased() ? .equal : .otherHash("\(expected) here, \(present) there")
    }

    /// Whether something differs.
    var isDifference: Bool {
        switch self {
        case .equal, .alike: false
        case .otherSize, .otherHash: true
        }
    }
}
