import SyncProtocol
import Synchronization

/// Lets transfers in as far as ``TransferShares`` allow; one for all threads of a process.
public final class TransferLimit: Sendable {
    private let shares: Mutex<TransferShares>

    /// - Parameters:
    ///   - threads: how many transfers the process takes at once.
    ///   - maximumPerUser: of these, uploads and downloads together.
    public init(threads: Int, maximumPerUser: Int) {
        shares = Mutex(TransferShares(threads: threads, maximumPerUser: maximumPerUser))
    }

    /// Takes a share for one transfer, to be given back with ``leave(_:_:)``.
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
