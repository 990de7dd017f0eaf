import HTTPTransport
import Providers
import SyncProtocol
import Vault

/// The former account does not provide a file's bytes.
struct MoveSourceFailure: Error {
    let cause: CloudStorageError
}

/// The process must stop, or another one has taken over the move: the file starts over.
struct MoveInterrupted: Error {}

/// The bytes of one file in its owner's former account, read in pieces, no faster than the limit for moves.
struct MoveSource {
    /// The number of bytes read and held in memory at a time, unless a test sets another.
    static let usualWindowBytes = 8 << 20
    private static let patience: Duration = .seconds(60)
    private static let longestPause: Duration = .seconds(1)

    let storage: UserStorage
    let objectID: String
    let lengthBytes: Int64
    /// The pace of moves; `nil` for no limit.
    let bytesPerSecond: Int?
    let pause: @Sendable (Duration) -> Void
    /// Called for each piece that arrives and during each pause; ends the reading by throwing.
    let goesOn: () throws -> Void
    var windowBytes = MoveSource.usualWindowBytes

    /// Reads the bytes from `start`: all that are left, or ``windowBytes`` of them.
    /// - Throws: ``MoveSourceFailure``, `EndpointError.contentMismatch` if the object has a different length; the
    ///   errors of ``goesOn``.
    func window(at start: Int64) throws -> [UInt8] {
        let began = ContinuousClock.now
        let wanted = Int(min(Int64(windowBytes), lengthBytes - start))
        let isWhole = Int64(wanted) == lengthBytes
        var bytes: [UInt8] = []
        bytes.reserveCapacity(wanted)
        var hasOtherLength = false
        var obstacle: (any Error)?
        var access = storage.access
        access.deadline = .after(Self.patience)
        do {
            try storage.provider.download(
                objectID: objectID, range: isWhole ? nil : start...(start + Int64(wanted) - 1), from: access,
                begin: { length in hasOtherLength = length.map { $0 != lengthBytes } ?? false },
                receive: { piece in
                    guard !hasOtherLength, bytes.count + piece.count <= wanted else {
                        hasOtherLength = true
                        return false
                    }
                    bytes.append(copying: piece)
                    do { try goesOn() } catch { obstacle = error }
                    return obstacle == nil
                })
        } catch {
            if hasOtherLength { throw EndpointError.contentMismatch }
            throw obstacle ?? MoveSourceFailure(cause: error)
        }
        guard bytes.count == wanted else { throw EndpointError.contentMismatch }
        try rest(since: began, bytes.count)
        return bytes
    }

    /// Waits until `bytes` have taken as long as the limit requires.
    private func rest(since began: ContinuousClock.Instant, _ bytes: Int) throws {
        guard let bytesPerSecond else { return }
        let end = began + .seconds(Double(bytes) / Double(bytesPerSecond))
        while true {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return }
            pause(min(left, Self.longestPause))
            try goesOn()
        }
    }
}
