/// A self-committing batch of staged changes: the last one to arrive commits all of them.
///
/// For transfers that continue while the app is not running, and therefore cannot send ``DoneUploadsRequest``.
public struct UploadBatch: Sendable, Hashable {
    /// The allowed number of files that one batch changes.
    public static let allowedCounts: ClosedRange<Int32> = 1...1_000

    /// The batch's id, which becomes the id of its commit.
    public let batchUUID: BatchUUID
    /// The number of files that the batch changes; the same in all its requests.
    public let batchCount: Int32
    /// Text to send to the other members when the batch is committed. One request of the batch suffices; if several
    /// contain a text, the last to arrive counts.
    public let pushNotificationMessage: String?

    /// Creates a batch.
    public init(batchUUID: BatchUUID, batchCount: Int32, pushNotificationMessage: String? = nil) {
        self.batchUUID = batchUUID
        self.batchCount = batchCount
        self.pushNotificationMessage = pushNotificationMessage
    }

    static let parameters: [ParameterName] = [.batchUUID, .batchCount]
    static let texts: [ParameterName] = [.pushNotificationMessage]

    /// Interprets the parameters of a request that may belong to a batch; nil if it does not.
    init?(_ query: DecodedQuery) throws(RequestError) {
        let message: String? = try query.optional(.pushNotificationMessage)
        let count: Int32? = try query.optional(.batchCount)
        guard let batchUUID: BatchUUID = try query.optional(.batchUUID) else {
            guard count == nil, message == nil else { throw .missing(.batchUUID) }
            return nil
        }
        guard let count else { throw .missing(.batchCount) }
        guard Self.allowedCounts.contains(count) else {
            let allowed = Self.allowedCounts
            throw .outOfRange(.batchCount, allowed: Int64(allowed.lowerBound)...Int64(allowed.upperBound))
        }
        self.init(batchUUID: batchUUID, batchCount: count, pushNotificationMessage: message)
    }

    func encode(to encoder: inout QueryEncoder) {
        encoder.add(.batchUUID, batchUUID)
        encoder.add(.batchCount, batchCount)
        encoder.add(.pushNotificationMessage, pushNotificationMessage)
    }
}
