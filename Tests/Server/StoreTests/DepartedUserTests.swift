import SyncProtocol
import TestSupport
import Testing

@testable import Store

@Suite("Tokens of removed users until their storage is cleaned up")
struct DepartedUserTests {
    let fixture: StoreFixture
    let owner: Member
    let storage: OwningUser

    init() throws {
        fixture = try StoreFixture()
        owner = try fixture.addOwner()
        storage = try owner.owningUser()!
        try fixture.store.transaction { [owner] in _ = try $0.storeCredentials([1, 2, 3], of: owner.user) }
    }

    private func removeUser() throws {
        #expect(try fixture.store.transaction { try $0.removeUser(owner.user, at: noon) })
    }

    private func departed() throws -> (user: UserRecord, credentials: [UInt8])? {
        try fixture.store.withSession { try $0.departedUser(owner.user) }
    }

    @Test("With nothing to delete, nothing is kept")
    func nothingToClear() throws {
        try owner.addFile(object: "committed")
        try fixture.store.transaction { try $0.addWarningFile(for: storage, at: noon) }

        try removeUser()

        #expect(try departed() == nil)
        #expect(try workInStorage() == 0)
    }

    /// Excludes the revocation of their grants, which is not work in a storage.
    private func workInStorage() throws -> Int {
        try fixture.count("SELECT COUNT(*) FROM outbox WHERE kind <> 'revokeGrant'")
    }

    @Test("Without tokens nothing can be deleted, and nothing is kept")
    func noTokens() throws {
        let other = try fixture.addOwner()
        try other.stage(.upload(of: someFile(), version: 0, object: "staged", owner: other.owningUser()!))

        #expect(try fixture.store.transaction { try $0.removeUser(other.user, at: noon) })

        #expect(try fixture.count("SELECT COUNT(*) FROM departed_users") == 0)
        #expect(try fixture.count("SELECT COUNT(*) FROM outbox") == 0)
    }

    @Test("Objects staged in their storage, by them or others, are deleted; then the tokens are removed")
    func cleared() throws {
        let guest = try fixture.addGuest(of: owner)
        try owner.addFile(object: "committed")
        try owner.stage(.upload(of: someFile(), version: 0, object: "their own", owner: storage))
        try guest.stage(.upload(of: someFile(), version: 0, object: "guest's", owner: storage))
        _ = try fixture.store.transaction { session in
            try session.addDeletion(of: "put off", in: storage, availableAt: noon(plus: 86_400), at: noon)
        }

        try removeUser()

        let kept = try #require(try departed())
        #expect(kept.user.userID == owner.user && kept.credentials == [1, 2, 3])
        #expect(try fixture.store.withSession { try $0.user(owner.user) } == nil)
        let items = try fixture.store.transaction { try $0.leaseDue(by: "w", limit: 9, until: noon(plus: 9), at: noon) }
        #expect(Set(items.map(\.objectID)) == ["their own", "guest's", "put off"])
        for item in items {
            #expect(try departed() != nil)
            try fixture.store.transaction { session in
                let isReferenced = try session.isReferenced(item.objectID!, of: storage)
                #expect(!isReferenced)
                try session.complete(item.id, by: "w")
                try session.forgetDepartedUser(owner.user)
            }
        }
        #expect(try departed() == nil)
    }

    @Test("After an hour the tokens are removed, together with the work that needed them")
    func timeIsOver() throws {
        try owner.stage(.upload(of: someFile(), version: 0, object: "staged", owner: storage))
        try removeUser()
        let forget = { (seconds: Int64) in
            try fixture.store.transaction { try $0.forgetDepartedUsers(at: noon(plus: seconds), limit: 10) }
        }

        #expect(try forget(3_599) == 0)
        #expect(try departed() != nil)
        #expect(try forget(3_600) == 1)

        #expect(try departed() == nil)
        #expect(try workInStorage() == 0)
    }

    @Test("Refreshed tokens are kept as long as they are needed")
    func renewed() throws {
        try owner.stage(.upload(of: someFile(), version: 0, object: "staged", owner: storage))
        try removeUser()

        try fixture.store.transaction { try $0.storeCredentials([9], ofDeparted: owner.user) }

        #expect(try departed()?.credentials == [9])
    }

    @Test(
        "A user who signs up again with the same account takes over the objects to be cleared, and thus protects them")
    func backAgain() throws {
        try owner.stage(.upload(of: someFile(), version: 0, object: "staged", owner: storage))
        let account = try #require(try fixture.store.withSession { try $0.user(owner.user) })
        try removeUser()
        let stranger = try fixture.addUser()

        let again = try fixture.store.transaction { session in
            try session.addUser(
                .google, account.providerUserID, displayName: "", cloudFolderName: "F", at: noon)
        }

        #expect(try departed() == nil)
        #expect(again != owner.user)
        try fixture.store.withSession { session in
            let isDoomed = try [again, stranger].map { user in
                try session.isDoomed("staged", of: OwningUser(userID: user, storageType: .google))
            }
            #expect(isDoomed == [true, false])
        }
    }
}
