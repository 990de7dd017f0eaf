import Foundation
import SyncClient
import Synchronization
import Testing

@Suite("Transfers of background sessions")
struct BackgroundTransfersTests {
    private static func folder() -> URL {
        FileManager.default.temporaryDirectory.appending(path: "transfers-\(UUID().uuidString)")
    }

    @Test("A transfer that is reported before the client exists waits for it")
    func early() async throws {
        let folder = Self.folder()
        let transfers = BackgroundTransfers(folder: folder)
        let handlers = transfers.handlers
        #expect(handlers.folder == folder)
        let file = folder.appending(path: "download")
        try Data("x".utf8).write(to: file)
        let bench = try Bench { Bench.index($0) }
        let isStored = Mutex(false)

        // The session's own thread; it must not be one of those that tasks share.
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        Thread.detachNewThread {
            handlers.ended(
                UnattendedTransfer(label: "x", result: .failure(TransportFailure(.interrupted)), file: file))
            isStored.withLock { $0 = true }
            end.finish()
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(!isStored.withLock { $0 } && FileManager.default.fileExists(atPath: file.path))
        transfers.connect(to: bench.client)
        for await _ in ended {}

        // The client has seen that the transfer is of no use.
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("The app learns once that all transfers were reported, in whichever order the two sides call")
    func finish() {
        let transfers = BackgroundTransfers(folder: Self.folder())
        let count = Mutex(0)
        let note: @Sendable () -> Void = { count.withLock { $0 += 1 } }

        transfers.whenAllReported(note)
        #expect(count.withLock { $0 } == 0)
        transfers.handlers.allReported()
        #expect(count.withLock { $0 } == 1)

        transfers.handlers.allReported()
        #expect(count.withLock { $0 } == 1)
        transfers.whenAllReported(note)
        #expect(count.withLock { $0 } == 2)
    }
}
