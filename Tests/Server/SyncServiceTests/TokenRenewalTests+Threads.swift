import Foundation
import HTTPTransport
import Providers
import Store
import SyncService
import Synchronization
import TestSupport
import Testing

@testable import Vault

/// Threads of one request share the tokens.
extension TokenRenewalTests {
    @Test("Tokens read at the beginning of a request are used once by each of its threads")
    func beginning() throws {
        let storage = try server.services.storage.storage(
            of: user, transport: .unused, deadline: .after(.seconds(60)), logger: logger)
        let tokens = storage.access.tokens
        #expect(try tokens.current().text == "access 0")
        try store(StoredCredentials(accessToken: "access 1", refreshToken: "refresh 1"))
        storage.join()

        #expect(try tokens.current().text == "access 0")
        #expect(try tokens.current().text == "access 1")
        try store(StoredCredentials(accessToken: "access 2", refreshToken: "refresh 2"))
        #expect(try tokens.current().text == "access 2")
    }

    @Test("Eight threads of one request refresh once, and wait without polling the store")
    func threads() async throws {
        let (asking, pausing) = (WaitingThreads(), WaitingThreads())
        let tokens = tokens { _ in pausing.add(0) }
        // By then most of the others wait; one that arrives later uses the new token.
        provider.beforeAnswer {
            while asking.count < 8 { sched_yield() }
            Thread.sleep(forTimeInterval: 0.05)
        }

        let results = try await Threads.run(8) { number in
            asking.add(number)
            return try tokens.renewed(insteadOf: "access 0", by: .after(.seconds(60))).text
        }

        #expect(Set(results) == ["access 1"])
        #expect(provider.calls == 1)
        #expect(pausing.count == 0)
    }

    @Test("A token refreshed by one thread serves the others without a query, but is not used later")
    func sharing() throws {
        let tokens = tokens()
        #expect(try tokens.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")
        try store(StoredCredentials(accessToken: "access 9", refreshToken: "refresh 9"))

        #expect(try tokens.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        #expect(try tokens.renewed(insteadOf: "access 1", by: .after(.seconds(20))).text == "access 9")
        #expect(provider.calls == 1)
    }

    @Test("If the refresh of one thread fails, a thread that waited for it sends its own")
    func failureOfAnotherThread() async throws {
        let tokens = tokens()
        provider.failNext(with: .unavailable(detail: "down"))

        let results = try await Threads.run(2) { _ in
            try? tokens.renewed(insteadOf: "access 0", by: .after(.seconds(60))).text
        }

        #expect(Set(results) == ["access 1", nil])
        #expect(provider.calls == 1)
    }

    @Test("A thread waits for another one's refresh until its own deadline, and in a counted place", arguments: [1, 0])
    func boundedWait(places: Int) throws {
        let tokens = tokens(places: SleepingPlaces(places, perService: places))
        let outcome = Mutex<CloudStorageError?>(nil)
        provider.beforeAnswer {
            let error = failure {
                try tokens.renewed(
                    insteadOf: "access 0", by: .after(places == 0 ? .seconds(60) : .milliseconds(100)))
            }
            outcome.withLock { $0 = error }
        }

        #expect(try tokens.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")

        switch try #require(outcome.withLock { $0 }) {
        case .unavailable: #expect(places == 1)
        case .withheld(.busy): #expect(places == 0)
        case let error: Issue.record("\(error)")
        }
    }

    @Test("The removal of the owner or of the tokens is noticed at the next use, and at the next refresh")
    func removal() throws {
        let tokens = tokens()
        #expect(try tokens.current().text == "access 0")
        #expect(try tokens.renewed(insteadOf: "access 0", by: .after(.seconds(20))).text == "access 1")
        try store(StoredCredentials(codeHash: "of a code"))
        let uses = [{ try tokens.current() }, { try tokens.renewed(insteadOf: "access 1", by: .after(.seconds(5))) }]
        for use in uses {
            guard case .authorizationRevoked = failure(of: use) else {
                Issue.record("the tokens are used")
                continue
            }
        }
        let userID = user.userID
        _ = try server.store.transaction { try $0.removeUser(userID, at: noon) }
        for use in uses {
            guard case .localFailure(let cause) = failure(of: use), cause is OwnerRemoved else {
                Issue.record("the owner counts as present")
                continue
            }
        }
        #expect(provider.calls == 1)
    }
}
