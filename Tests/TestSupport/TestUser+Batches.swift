import Foundation

/// A batch of changes that is committed when it is complete.
public struct TestBatch: Sendable {
    /// The identifier, an upper-case UUID.
    public var uuid = UUID().uuidString
    /// The number of files that the batch changes.
    public var count: Int

    /// Creates a batch.
    public init(of count: Int) { self.count = count }

    /// The parameters of each request of the batch.
    public var parameters: [String: String?] { ["batchUUID": uuid, "batchCount": String(count)] }
}

extension HTTPReply {
    /// The master version of the committed batch, if the reply contains it.
    public var committedMasterVersion: Int64? {
        let message = messageParameters ?? json
        guard case .integer(let version)? = message?["committedMasterVersion"] else { return nil }
        return version
    }
}
