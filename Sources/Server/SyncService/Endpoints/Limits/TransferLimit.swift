import SyncProtocol
import Synchronization

/// Admits transfers as far as ``TransferShares`` allow; one for all threads of a process.
public final class TransferLimit: Sendable {
    private let shares: Mutex<TransferShares>

    /// - Parameters:
    ///   - threads: how many transfers the process handles concurrently.
    ///   - maximumPerUser: how many of these one user may have, uploads and downloads together.
    public init(threads: Int, maximumPerUser: Int) {
        shares = Mutex(TransferShares(threads: threads, maximumPerUser: maximumPerUser))
    }

    /// Acquires a share for one transfer, to be released with ``leave(_:_:)``.
    /// - Throws: ``EndpointError/tooManyTransfers``, ``EndpointError/directionFull``.
    func enter(_ user: UserID, _ direction: TransferShares.Direction) throws(EndpointError) {
        switch shares.withLock({ $0.enter(user, direction) }) {
        case .entered: break
        case .tooManyOfUser: throw .tooManyTransfers
        case .tooManyInDirection: throw .directionFull
        }
    }

    func leave(_ user: UserID, _ direction: TransferShares.Direction) {
        shares.withLock { $0.leave(user, direction) }
    }
}
