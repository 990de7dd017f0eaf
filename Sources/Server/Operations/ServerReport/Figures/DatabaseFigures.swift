public import SyncProtocol

/// What a report says of the database: counts and sums of one moment, and no names.
public struct DatabaseFigures: Equatable, Sendable, Encodable {
    /// What lies in the storages of one kind, in the folders of all owners.
    public struct Storage: Equatable, Sendable, Encodable {
        public var storageType: CloudStorageType
        /// Current files.
        public var files: Int
        /// Bytes of those whose size is known.
        public var bytes: Int64
        public var filesOfUnknownSize: Int
        /// Rows of deleted files, of which nothing is in the storage any more.
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

    /// How far users are from one limit.
    public struct QuotaUse: Equatable, Sendable, Encodable {
        /// One of ``Quota``.
        public var quota: String
        public var limit: Int
        /// The most that one user has used.
        public var highest: Int
        /// Users who have used ``QuotaStanding/nearPercent`` or more, those at the limit included.
        public var usersNear: Int
        public var usersAtLimit: Int
    }

    public var counts: StoreOverview
    /// In the order of ``CloudStorageType``; kinds without files are left out.
    public var storage: [Storage]
    /// By when people signed up; who removed their account is in none of the counts.
    public var users: GrowthCurve
    /// By when they were made.
    public var groups: GrowthCurve
    /// By when their first version was uploaded.
    public var files: GrowthCurve
    /// Kinds without work are left out.
    public var outbox: [Work]
    /// In the order of ``Quota``; without quotas that have no limit.
    public var quotas: [QuotaUse]
}
