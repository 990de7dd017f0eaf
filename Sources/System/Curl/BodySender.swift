/// Supplies libcurl's callbacks with an arriving body, for the duration of one transfer.
///
/// Lives on the stack of `perform`, like ``ResponseReceiver``.
struct BodySender {
    private let body: ArrivingBody
    private var position = 0
    private var lastSupply = ContinuousClock.now

    /// Set once the body could not be read further.
    private(set) var hasFailed = false
    /// Set once the server exceeded the body's patience.
    private(set) var isOverdue = false

    init(_ body: ArrivingBody) { self.body = body }

    /// Supplies the next bytes; nil ends the transfer.
    mutating func supply(_ buffer: inout MutableSpan<UInt8>) -> Int? {
        guard position < body.lengthBytes else { return 0 }
        defer { lastSupply = .now }
        guard let count = body.read(position, &buffer), (1...buffer.count).contains(count) else {
            hasFailed = true
            return nil
        }
        position += count
        return count
    }

    /// Seeks back because libcurl sends the body again.
    mutating func seek(to newPosition: Int) -> Bool {
        guard (0...body.lengthBytes).contains(newPosition) else { return false }
        position = newPosition
        return true
    }

    /// Whether the server may take even longer; libcurl asks about once a second (CURLOPT_XFERINFOFUNCTION(3)).
    mutating func checkPatience() -> Bool {
        isOverdue = lastSupply.duration(to: .now) > body.patience
        return !isOverdue
    }
}
