internal import MariaDB
public import SyncProtocol

extension StoreSession {
    /// Records that one of Apple's notices has been handled; call in the transaction that handles it, after its locks.
    /// - Returns: `false` if it was handled before and must not be handled again.
    public mutating func noteAppleNotice(_ identifierHash: [UInt8], at now: WireDate) throws(StoreError) -> Bool {
        try execute(
            "INSERT IGNORE INTO apple_notices (identifier_hash, handled_at) VALUES (?, ?)",
            [.bytes(identifierHash), .date(now)]) == 1
    }

    /// Deletes notices that were handled before `time`, at most `limit` of them.
    /// - Returns: how many were deleted.
    public mutating func forgetAppleNotices(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM apple_notices WHERE handled_at < ? ORDER BY handled_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
