import Foundation
import SyncClient
import SyncEngine
import Synchronization
import Testing

@Suite("Suspension")
struct SuspensionTests {
    /// A client whose request waits until it is released.
    private struct Held {
        let bench: Bench
        let sync: Task<SyncReport, any Error>
        private let opened: AsyncStream<Void>.Continuation

        init() async throws {
            let (waiting, isWaiting) = AsyncStream.makeStream(of: Void.self)
            let (released, release) = AsyncStream.makeStream(of: Void.self)
            let bench = try Bench { request in
                isWaiting.yield()
                for await _ in released {}
                return Bench.index(request)
            }
            (self.bench, opened) = (bench, release)
            sync = Task { try await bench.client.synced() }
            for await _ in waiting { break }
        }

        func release() { opened.finish() }
    }

    @Test("A suspended instance releases the store and refuses changes, until it is resumed")
    func suspended() async throws {
        let bench = try Bench { Bench.index($0) }
        try await bench.client.synced()

        bench.client.suspend()
        bench.client.suspend()

        for call in [
            { try bench.client.sync() }, { try bench.client.closeQueue(sharingGroupUUID: Bench.group) },
            { _ = try bench.client.uploadData(Data("x".utf8), withAttributes: Bench.attributes()) },
        ] {
            #expect(#expect(throws: SyncError.self) { try call() }?.code == .suspended)
        }
        #expect(bench.client.sharingGroups.count == 1)
        #expect(try bench.ownFiles().isEmpty)
        let other = try Bench(folder: bench.folder) { Bench.index($0) }
        #expect(#expect(throws: SyncError.self) { try bench.client.resume() }?.code == .storeInUse)
        #expect(#expect(throws: SyncError.self) { try bench.client.sync() }?.code == .suspended)
        await other.client.close()

        try bench.client.resume()
        try bench.client.resume()

        #expect(throws: SyncError(.storeInUse)) { try Bench(folder: bench.folder) { Bench.index($0) } }
        try bench.client.uploadData(Data("x".utf8), withAttributes: Bench.attributes())
        #expect(bench.client.pendingReport().changes.count == 1)
    }

    @Test("A closed store can be opened although a new child process has copies of its descriptors until exec")
    func copiedDescriptor() async throws {
        let bench = try Bench { Bench.index($0) }
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let copies = numbers.filter { number in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            return path?.hasPrefix(bench.folder.path) == true && path?.hasSuffix("/lock") == true
        }.map { dup($0) }
        defer { for copy in copies { close(copy) } }
        #expect(copies.count == 1)

        await bench.client.close()

        let next = try Bench(folder: bench.folder) { Bench.index($0) }
        await next.client.close()
    }

    @Test("A reply that arrives during a suspension takes effect when the instance is resumed")
    func replyMeanwhile() async throws {
        let held = try await Held()
        held.bench.client.suspend()
        held.release()
        for _ in 0..<1_000 { await Task.yield() }
        #expect(held.bench.client.isSyncing && held.bench.client.sharingGroups.isEmpty)

        try held.bench.client.resume()

        _ = try await held.sync.value
        #expect(held.bench.client.sharingGroups.count == 1)
        #expect(held.bench.performer.requests.count == 1)
    }

    @Test("A store that another process has changed in the meantime is read again, and an active sync ends")
    func changedMeanwhile() async throws {
        let held = try await Held()
        let client = held.bench.client
        client.suspend()
        let other = try Bench(folder: held.bench.folder) { Bench.index($0) }
        try await other.client.synced()
        try other.client.uploadData(Data("x".utf8), withAttributes: Bench.attributes())
        await other.client.close()

        try client.resume()

        #expect(client.pendingReport().changes.count == 1 && client.sharingGroups.count == 1)
        held.release()
        let error = await #expect(throws: SyncError.self) { try await held.sync.value }
        #expect(error?.code == .storeInUse && !client.isSyncing)
        try await client.synced()
    }

    @Test("Entries of the inbox wait while the instance is suspended")
    func inbox() async throws {
        let bench = try Bench { Bench.index($0) }
        try await bench.client.synced()
        let inbox = UploadInbox(storeFolder: bench.folder)
        try inbox.uploadData(Data("x".utf8), withAttributes: Bench.attributes())

        bench.client.suspend()
        bench.client.resumePendingUploads()
        #expect(inbox.entries().count == 1)

        try bench.client.resume()
        bench.client.resumePendingUploads()
        #expect(inbox.entries().isEmpty)
    }

    @Test("A suspended instance can be closed, and cannot be resumed afterwards")
    func closed() async throws {
        let bench = try Bench { Bench.index($0) }
        bench.client.suspend()
        await bench.client.close()
        bench.client.suspend()
        #expect(#expect(throws: SyncError.self) { try bench.client.resume() }?.code == .closed)
        _ = try Bench(folder: bench.folder) { Bench.index($0) }
    }
}
