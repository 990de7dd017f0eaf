import Foundation
import MariaDB
import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Batches in the store")
struct BatchTests {
    private let fixture: StoreFixture
    private let owner: Member
    private let storage: OwningUser

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = OwningUser(userID: owner.user, storageType: .google)
    }

    private func ticket(
        _ batch: BatchUUID, count: Int32 = 2, from masterVersion: Int64 = 0, message: String? = nil
    ) -> BatchTicket {
        BatchTicket(
            batch: UploadBatch(batchUUID: batch, batchCount: count, pushNotificationMessage: message),
            masterVersion: MasterVersion(masterVersion), requestHash: [UInt8](repeating: 1, count: 32))
    }

    /// Stages version 0 of a file as a member of a batch.
    @discardableResult
    private func join(
        _ ticket: BatchTicket, _ file: FileUUID = someFile(), object: String = UUID().uuidString,
        at time: WireDate = noon
    ) throws -> BatchState {
        try owner.store.transaction { session in
            _ = try session.lockMasterVersionExclusive(of: owner.area.groupID)
            _ = try session.claimStaging(of: file, in: owner.area, at: time)
            try session.stage(
                .upload(of: file, version: 0, object: object, owner: storage), in: owner.area, at: time)
            return try session.joinBatch([(ticket, file)], in: owner.area, at: time)
        }
    }

    private func commit(_ batch: BatchUUID) throws -> Int32 {
        try owner.store.transaction { session in
            let version = try session.lockMasterVersionExclusive(of: owner.area.groupID)
            _ = try session.advanceMasterVersion(of: owner.area.groupID, from: version)
            return try session.commitStaged(
                in: owner.area, of: batch, owningUser: storage, as: MasterVersion(version.rawValue + 1), at: noon)
        }
    }

    private func withdraw(before time: WireDate) throws -> Int {
        try owner.store.transaction { session in
            let count = try session.withdrawAbandoned(stagedBefore: time, limit: 100, at: noon)
            _ = try session.forgetBatches(changedBefore: time, limit: 100)
            return count
        }
    }

    @Test("A batch is complete with its last file, and the newest message counts")
    func complete() throws {
        let (batch, file) = (someBatch(), someFile())

        #expect(try join(ticket(batch, count: 3, message: "first"), file) == .incomplete)
        #expect(try join(ticket(batch, count: 3, message: "first"), file) == .incomplete)
        #expect(try join(ticket(batch, count: 3, message: "second")) == .incomplete)
        #expect(try join(ticket(batch, count: 3)) == .complete(pushMessage: "second"))
    }

    @Test("A different count, or more files than announced, is a mismatch")
    func mismatch() throws {
        let batch = someBatch()
        try join(ticket(batch, count: 2))

        #expect(try join(ticket(batch, count: 3)) == .mismatch)

        let small = someBatch()
        try join(ticket(small, count: 1))
        #expect(try join(ticket(small, count: 1)) == .mismatch)
    }

    @Test("A plain commit does not change batches, and a batch's commit changes nothing else")
    func separate() throws {
        let (batch, other) = (someBatch(), someBatch())
        let (plain, first, second, foreign) = (someFile(), someFile(), someFile(), someFile())
        try owner.stage(.upload(of: plain, version: 0, object: "plain", owner: storage))
        try join(ticket(batch), first)
        try join(ticket(batch), second)
        try join(ticket(other), foreign)

        #expect(try commit(batch) == 2)
        #expect(try owner.file(first) != nil && owner.file(second) != nil)
        #expect(try Set(owner.staged().map(\.fileUUID)) == [plain, foreign])

        #expect(try owner.commit() == 1)
        #expect(try owner.file(plain) != nil)
        #expect(try owner.staged().map(\.fileUUID) == [foreign])
        #expect(try owner.staged().map(\.batchUUID) == [other])
        #expect(try fixture.count("SELECT COUNT(*) FROM batches") == 1)
        #expect(try owner.objectsToDelete() == [])
    }

    @Test("A batch restarts with another master version: members that are not sent again neither count nor survive")
    func anew() throws {
        let (batch, dropped, kept) = (someBatch(), someFile(), someFile())
        try join(ticket(batch, from: 0), dropped, object: "dropped")
        _ = try owner.commit()

        #expect(try join(ticket(batch, from: 1), kept) == .incomplete)
        #expect(try join(ticket(batch, from: 1)) == .complete(pushMessage: nil))
        #expect(try commit(batch) == 2)

        #expect(try owner.file(dropped) == nil)
        #expect(try owner.staged() == [])
        #expect(try owner.objectsToDelete() == ["dropped"])
        #expect(try fixture.count("SELECT COUNT(*) FROM batches") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM commit_members") == 2)
    }

    @Test("A change staged again without a batch leaves the batch")
    func leaving() throws {
        let (batch, file) = (someBatch(), someFile())
        try join(ticket(batch), file)
        try owner.stage(.upload(of: file, version: 0, object: "o", owner: storage))

        #expect(try join(ticket(batch)) == .incomplete)
        #expect(try owner.commit() == 1)
        #expect(try owner.file(file) != nil)
    }

    @Test("A batch expires as a whole, when its newest member is old, and its objects are deleted")
    func expiry() throws {
        let batch = someBatch()
        try join(ticket(batch, count: 3), object: "old", at: noon)
        try join(ticket(batch, count: 3), object: "new", at: noon(plus: 100))
        try owner.stage(.upload(of: someFile(), version: 0, object: "plain", owner: storage), at: noon)

        #expect(try withdraw(before: noon(plus: 50)) == 1)
        #expect(try owner.objectsToDelete() == ["plain"])
        #expect(try withdraw(before: noon(plus: 101)) == 2)
        #expect(try owner.objectsToDelete() == ["plain", "old", "new"])
        #expect(try owner.staged() == [])
        #expect(try fixture.count("SELECT COUNT(*) FROM batches") == 0)
    }

    @Test("A discard removes all changes, some files, or a batch, adds the objects to the outbox, and is idempotent")
    func discarding() throws {
        let (batch, plain, first, second) = (someBatch(), someFile(), someFile(), someFile())
        let neighbour = try fixture.member(owner.user, of: owner.group)
        try neighbour.stage(.upload(of: someFile(), version: 0, object: "neighbour", owner: storage))
        try owner.stage(.upload(of: plain, version: 0, object: "plain", owner: storage))
        try join(ticket(batch, count: 3), first, object: "first")
        try join(ticket(batch, count: 3), second, object: "second")
        func discard(_ files: Set<FileUUID>? = nil, _ batch: BatchUUID? = nil) throws -> Int {
            try owner.store.transaction { session in
                try session.discardStaged(in: owner.area, files: files, batch: batch, at: noon)
            }
        }

        #expect(try discard([plain, someFile()], batch) == 0)
        #expect(try discard([FileUUID(first.rawValue.lowercased())!]) == 1)
        #expect(try discard(nil, BatchUUID(batch.rawValue.lowercased())!) == 1)
        #expect(try discard(nil, batch) == 0)
        #expect(try owner.objectsToDelete() == ["first", "second"])
        #expect(try discard() == 1)
        #expect(try discard() == 0)
        #expect(try owner.objectsToDelete() == ["first", "second", "plain"])
        #expect(try neighbour.staged().count == 1)
    }

    @Test("Commits are stored by id for their user and device, once, and removed by age")
    func recorded() throws {
        let commit = CommitID(UUID().uuidString)!
        let recorded = IdentifiedCommit(
            requestHash: [UInt8](repeating: 9, count: 32), masterVersion: MasterVersion(4), transferred: 2)
        try owner.store.transaction { try $0.record(recorded, as: commit, in: owner.area, at: noon) }
        let other = try fixture.member(owner.user, of: owner.group)

        #expect(
            try owner.store.withSession {
                try $0.identifiedCommit(CommitID(commit.rawValue.lowercased())!, in: owner.area)
            } == recorded)
        #expect(try owner.store.withSession { try $0.identifiedCommit(commit, in: other.area) } == nil)
        #expect {
            try owner.store.transaction { try $0.record(recorded, as: commit, in: owner.area, at: noon) }
        } throws: { error in
            if case StoreError.alreadyExists = error { true } else { false }
        }
        #expect(try owner.store.transaction { try $0.forgetCommits(before: noon, limit: 10) } == 0)
        #expect(try owner.store.transaction { try $0.forgetCommits(before: noon(plus: 1), limit: 10) } == 1)
        #expect(try owner.store.withSession { try $0.identifiedCommit(commit, in: owner.area) } == nil)
    }
}

func someBatch() -> BatchUUID { BatchUUID(UUID().uuidString)! }
