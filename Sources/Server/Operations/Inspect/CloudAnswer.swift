public import SyncProtocol

/// What an owner's storage said about the contents of a file when it was asked.
public struct CloudAnswer: Equatable, Sendable, Encodable {
    public enum Finding: String, Equatable, Sendable, Encodable {
        /// There, and as they were uploaded: the storage's hash says so, or somebody has read them.
        case present
        /// There, and of the same size; whether they are the same, only reading them would tell.
        case alike
        /// There, but in the bin.
        case inBin
        /// There, with another size or hash than what was uploaded.
        case changed
        /// The object is gone, and another one has its name; the next download takes that one for the file's.
        case replaced
        /// Neither the object nor anything of its name is there.
        case missing
        /// The storage refuses the server's tokens, or there are none.
        case refused
        /// The storage could not be asked, or not in time.
        case unavailable
    }

    public var sharingGroupUUID: SharingGroupUUID
    public var finding: Finding
    /// What differs, or why the storage could not be asked; absent if there is nothing to add.
    public var detail: String?
    public var askedAt: WireDate

    public init(sharingGroupUUID: SharingGroupUUID, finding: Finding, detail: String? = nil, askedAt: WireDate) {
        self.sharingGroupUUID = sharingGroupUUID
        self.finding = finding
        self.detail = detail
        self.askedAt = askedAt
    }
}
