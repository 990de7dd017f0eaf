import Providers
import Store
import SyncProtocol

/// How an object differs from the row of its file.
enum ObjectComparison: Equatable {
    /// The provider's hash is that of the file.
    case equal
    /// The provider tells no hash, or none is known here, and nothing else differs.
    case alike
    case otherSize(String)
    case otherHash(String)

    /// Compares what the provider says with the row; what either side does not know is not compared.
    init(_ object: StoredObject, with file: FileRecord) {
        if let size = file.sizeBytes, size != object.sizeBytes {
            self = .otherSize("\(size) bytes here, \(object.sizeBytes) there")
            return
        }
        // Where the provider's hash is the checksum, no other is stored.
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
