public import SyncProtocol

/// The reply of an owner's storage about the contents of a file.
public struct CloudAnswer: Equatable, Sendable, Encodable {
    public enum Finding: String, Equatable, Sendable, Encodable {
        /// The contents exist unchanged, according to the storage's hash or a full read.
        case present
        /// The contents exist with the same size; only a full read would show whether they are unchanged.
        case alike
        /// The object is in the bin.
        case inBin
        /// The object exists, but its size or hash differs from the upload.
        case changed
        /// The object is gone, and another one has its name; the next download uses that one for the file.
        case replaced
        /// Neither the object nor another one with its name exists.
        case missing
        /// The storage rejects the server's tokens, or there are none.
        case refused
        /// The storage could not be asked in time.
        case unavailable
    }

    public var sharingGroupUUID: SharingGroupUUID
    public var finding: Finding
    /// The difference, or why the storage could not be asked; absent if there are no details.
    public var detail: String?
    public var askedAt: WireDate

    public init(sharingGroupUUID: SharingGroupUUID, finding: Finding, detail: String? = nil, askedAt: WireDate) {
        self.sharingGroupUUID = sharingGroupUUID
        self.finding = finding
        self.detail = detail
        self.askedAt = askedAt
    }
}
