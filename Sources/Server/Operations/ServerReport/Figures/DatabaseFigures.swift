public import SyncProtocol

/// A report's figures about the database: counts and sums from one moment, without names.
public struct DatabaseFigures: Equatable, Sendable, Encodable {
    /// The contents of all owners' folders in storages of one kind.
    public struct Storage: Equatable, Sendable, Encodable {
        public var storageType: CloudStorageType
        /// Current files.
        public var files: Int
        /// The total size of those whose size is known.
        public var bytes: Int64
        public var filesOfUnknownSize: Int
        /// Rows of deleted files, which are no longer in the storage.
        public var deletedFiles: Int
    }

    /// Pending work of one kind.
    public struct Work: Equatable, Sendable, Encodable {
        public var kind: String
        public var rows: Int
        public var due: Int
        /// In progress, or the intent of an upload in progress.
        public var leased: Int
        /// Failed at least once.
        public var failing: Int
        /// Age of the oldest row.
        public var oldestSeconds: Int64
    }

    /// Users' usage of one limit.
    public struct QuotaUse: Equatable, Sendable, Encodable {
        /// One of ``Quota``.
        public var quota: String
        public var limit: Int
        /// The highest usage by one user.
        public var highest: Int
        /// Users who have used at least ``QuotaStanding/nearPercent``, including those at the limit.
        public var usersNear: Int
        public var usersAtLimit: Int
    }

    public var counts: StoreOverview
    /// In the order of ``CloudStorageType``; without kinds that have no files.
    public var storage: [Storage]
    /// By the time of sign-up; people who have removed their account are not counted.
    public var users: GrowthCurve
    /// By the time of their creation.
    public var groups: GrowthCurve
    /// By the time of their first version's upload.
    public var files: GrowthCurve
    /// Without kinds that have no work.
    public var outbox: [Work]
    /// In the order of ``Quota``; without quotas that have no limit.
    public var quotas: [QuotaUse]
}
