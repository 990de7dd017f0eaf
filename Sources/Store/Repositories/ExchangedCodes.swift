internal import MariaDB
public import SyncProtocol

extension StoreSession {
    /// The sealed result of an authorization code that was exchanged before.
    public mutating func exchangedCode(_ hash: [UInt8]) throws(StoreError) -> [UInt8]? {
        try first("SELECT credentials FROM exchanged_codes WHERE code_hash = ?", [.bytes(hash)]) { row in
            row.optionalBytes(0)
        } ?? nil
    }

    /// Keeps the sealed result of an authorization code; the first result stays if there is one.
    public mutating func rememberExchangedCode(
        _ hash: [UInt8], credentials: [UInt8], at now: WireDate
    ) throws(StoreError) {
        try execute(
            """
            INSERT INTO exchanged_codes (code_hash, credentials, exchanged_at)
            VALUES (?, ?, ?)
                ON DUPLICATE KEY UPDATE code_hash = code_hash
            """,
            [.bytes(hash), .bytes(credentials), .date(now)])
    }

    /// Forgets results that are older than `time`, at most `limit` of them.
    /// - Returns: how many were forgotten.
    public mutating func forgetExchangedCodes(before time: WireDate, limit: Int) throws(StoreError) -> Int {
        try execute(
            "DELETE FROM exchanged_codes WHERE exchanged_at < ? ORDER BY exchanged_at LIMIT ?",
            [.date(time), .int(Int64(limit))])
    }
}
