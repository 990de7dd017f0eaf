import SyncProtocol

extension WireDate {
    /// A time in UTC in the providers' format, `2026-11-24T18:45:13.250Z` (RFC 3339), without its fraction; `nil` for
    /// any other format.
    init?(internetText text: String) {
        guard text.utf8.count <= 40, text.hasSuffix("Z") else { return nil }
        let whole = text.utf8.dropLast().prefix { $0 != UInt8(ascii: ".") }
        guard whole.count == 19 else { return nil }
        self.init(text: whole.map { $0 == UInt8(ascii: "T") ? UInt8(ascii: " ") : $0 })
    }
}
