import Providers
import Store
import SyncProtocol

/// How an object differs from the row of its file.
enum ObjectComparison: Equatable {
    case equal
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
        if let expected, let present = object.providerHash, expected.lowercased() != present.lowercased() {
            self = .otherHash("\(expected) here, \(present) there")
        } else {
            self = .equal
        }
    }
}
