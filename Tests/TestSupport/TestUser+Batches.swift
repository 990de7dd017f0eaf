import Foundation

/// A batch of changes that commits itself, as its requests name it.
public struct TestBatch: Sendable {
    /// The identifier, an upper-case UUID.
    public var uuid = UUID().uuidString
    /// How many files it changes.
    public var count: Int

    /// A new batch.
    public init(of count: Int) { self.count = count }

    /// The parameters that each request of the batch has.
    public var parameters: [String: String?] { ["batchUUID": uuid, "batchCount": String(count)] }
}

extension HTTPReply {
    /// The master version that the batch was committed as, if the reply says so.
    public var committedMasterVersion: Int64? {
        let message = messageParameters ?? json
        guard case .integer(let version)? = message?["committedMasterVersion"] else { return nil }
        return version
    }
}
