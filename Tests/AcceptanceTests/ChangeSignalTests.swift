import Foundation
import TestSupport
import Testing

@Suite("Signals about changes")
struct ChangeSignalTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    // MARK: Streams

    @Test("A commit reaches every listening member of the group, and nobody else [378]")
    func reachesMembers() throws {
        let alice = try server.signUpOwningUser()
        let bob = try alice.newMember(.read)
        let stranger = try server.signUpOwningUser()
        let streams = (try alice.listening(), try bob.listening(), try bob.onAnotherDevice().listening())
        let other = try stranger.listening()

        #expect(try alice.commit(masterVersion: 1).status == 200)

        #expect(try streams.0.changed(alice.group, to: 2))
        #expect(try streams.1.changed(alice.group, to: 2))
        #expect(try streams.2.changed(alice.group, to: 2))
        #expect(try stranger.commit(masterVersion: 0).status == 200)
        var found = try other.next()
        // The group's creation is repeated.
        if found?.json?.masterVersion?.integer == 0 { found = try other.next() }
        let event = try #require(found)
        #expect(event.name == "change")
        #expect(event.json?.sharingGroupUUID?.text == stranger.group)
        #expect(event.json?.masterVersion?.integer == 1)
        let names = try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: Any]
        #expect(names.map { Set($0.keys) } == ["sharingGroupUUID", "masterVersion"])
    }

    @Test("A stream is not cached or buffered, and has the server's version [379]")
    func headers() throws {
        let stream = try server.signUpOwningUser().listening()
        #expect(stream.status == 200)
        #expect(stream.headers["content-type"]?.hasPrefix("text/event-stream") == true)
        #expect(stream.headers["cache-control"] == "no-store")
        #expect(stream.headers["x-accel-buffering"] == "no")
        #expect(stream.headers["syncserver-version"] != nil)
        #expect(stream.isOpen)
    }

    @Test("A client that names no state, or an unknown one, receives the event index; the state is that of Index [380]")
    func unknownState() throws {
        let alice = try server.signUpOwningUser()
        let first = try alice.changes()
        let event = try #require(try first.next())
        #expect(event.name == "index" && event.data == "{}")
        #expect(try first.next() == nil)
        #expect(!first.isOpen)
        let tag = try #require(try alice.call("GET", "Index").values(of: "etag").first)
        #expect(tag == "\"\(event.id)\"")
        for known in ["1796004886:0", "-1", "0:-1,5", "é", "*", String(repeating: "9", count: 1_000)] {
            let answer = try alice.changes(after: known)
            #expect(try answer.changed(alice.group, to: 0), "\(known)")
            #expect(try answer.next()?.name == "index", "\(known)")
        }
        for known in [tag, event.id] {
            let stream = try alice.changes(after: known)
            // The signals of the last seconds are repeated.
            while try stream.next(within: .milliseconds(200)) != nil {}
            #expect(stream.isOpen)
        }
    }

    @Test("A client that was away learns of the groups' versions, and continues without a gap [381]")
    func resumption() throws {
        let alice = try server.signUpOwningUser()
        var stream = try alice.listening()
        #expect(try alice.commit(masterVersion: 0).status == 200)
        #expect(try stream.changed(alice.group, to: 1))
        let known = stream.lastEventID
        stream = try alice.changes(after: known)
        #expect(try stream.changed(alice.group, to: 1))
        #expect(try alice.commit(masterVersion: 1).status == 200)
        // The commit falls between two connections.
        #expect(try stream.next()?.name == "index")
        var late = try alice.changes(after: stream.lastEventID)
        #expect(try late.changed(alice.group, to: 2))
        #expect(try late.next()?.name == "index")
        late = try alice.changes(after: late.lastEventID)
        #expect(try alice.commit(masterVersion: 2).status == 200)
        #expect(try late.changed(alice.group, to: 3))
    }

    @Test("Heartbeats keep a stream alive [382]")
    func heartbeats() throws {
        // Its heartbeats come every second.
        let stream = try TestServer.configuredDifferently().signUpOwningUser().listening()
        let deadline = ContinuousClock.now + .seconds(60)
        // nchan greets with a comment as well.
        while stream.comments < 3, ContinuousClock.now < deadline { _ = try stream.next(within: .seconds(1)) }
        #expect(stream.isOpen && stream.comments >= 3)
    }

    // MARK: Members

    @Test("Signals of a new or joined group start without a new connection; those of a group left end [383]")
    func membership() throws {
        let alice = try server.signUpOwningUser()
        let bob = try server.signUpOwningUser()
        let stream = try bob.listening()
        #expect(try bob.redeem(try alice.invite(.write)).status == 200)
        #expect(try stream.changed(alice.group, to: 1))
        #expect(try alice.commit(masterVersion: 1).status == 200)
        #expect(try stream.changed(alice.group, to: 2))
        let own = try bob.newGroup()
        #expect(try stream.changed(own, to: 0))

        #expect(
            try alice.call(
                "POST", "RemoveSharingGroupMember",
                ["sharingGroupUUID": alice.group, "masterVersion": "2", "userId": String(bob.userID)]
            ).status == 200)
        var event = try stream.next()
        while event?.name == "change" { event = try stream.next() }
        #expect(event?.name == "index" && event?.data == "{}")
        #expect(try alice.commit(masterVersion: 3).status == 200)
        #expect(try bob.commit(masterVersion: 0, group: own).status == 200)
        let next = try #require(try stream.next())
        #expect(next.json?.sharingGroupUUID?.text == own, "\(next)")
    }

    @Test("The stream of a user who is removed ends [384]")
    func removal() throws {
        let alice = try server.signUpOwningUser()
        let stream = try alice.listening()
        #expect(try alice.removeAccount().status == 200)
        while try stream.next() != nil {}
        #expect(!stream.isOpen)
        expectError(try server.address.perform(alice.changesCall()), 401)
    }

    @Test("If a provider revokes a token, its stream ends with the next request that uses the token [385]")
    func withdrawnToken() async throws {
        let server = try TestServer.configuredDifferently()
        let alice = try server.signUpOwningUser()
        let stream = try alice.listening()
        try server.sandbox.revoke(alice.account)
        try await eventually("the token is rejected") { try alice.call("GET", "Index").status == 401 }
        while try stream.next() != nil {}
        #expect(!stream.isOpen)
        expectError(try server.address.perform(alice.changesCall()), 401)
    }

    // MARK: Long polling

    @Test("Long polling replies at once if the state is unknown, and otherwise with the next change [386]")
    func longPolling() async throws {
        let alice = try server.signUpOwningUser()
        let first = try server.address.perform(alice.changesCall(isStream: false))
        #expect(first.status == 200)
        let known = try #require(first.json?.lastEventId?.text)
        #expect(first.json?.sharingGroupUUID == nil)

        var waiting = try HTTPConversation(to: server.address)
        try waiting.send(alice.changesCall(after: known, isStream: false).head(for: server.address))
        let isAnsweredEarly = waiting.hasReply(within: .milliseconds(300))
        #expect(!isAnsweredEarly)
        #expect(try alice.commit(masterVersion: 0).status == 200)
        let reply = try waiting.reply(toHead: false)
        #expect(reply.status == 200, "\(reply)")
        #expect(reply.json?.sharingGroupUUID?.text == alice.group)
        #expect(reply.json?.masterVersion?.integer == 1)

        let next = try server.address.perform(alice.changesCall(after: known, isStream: false))
        #expect(next.json?.lastEventId?.text.map { $0 != known } == true, "\(next)")
    }

    // MARK: Strangers

    @Test("Nobody listens without a valid token [387]")
    func refusals() throws {
        let alice = try server.signUpOwningUser()
        let call = alice.changesCall()
        expectError(try server.address.perform(HTTPCall("GET", "/Changes")), 401)
        let invented = alice.with(account: alice.account.replacing(header: "access_token", with: "invented"))
        expectError(try server.address.perform(invented.changesCall()), 401)
        var post = call
        post.method = "POST"
        expectError(try server.address.perform(post), 405)
    }

    @Test("Outsiders cannot name channels, publish to them or end them [388]")
    func forgery() throws {
        let alice = try server.signUpOwningUser()
        let mallory = try server.signUpOwningUser()
        let stream = try alice.listening()
        let user = alice.userID
        for path in [
            "/syncd-changes/stream/\(user)", "/syncd-changes/poll/\(user)", "/publish/\(user)", "/status",
            "/Changes/\(user)", "/Changes/../syncd-changes/stream/\(user)",
        ] {
            for method in ["GET", "POST", "DELETE", "PUT"] {
                var call = mallory.changesCall()
                call.method = method
                call.target = path
                call.headers += [
                    ("X-Accel-Redirect", "/syncd-changes/stream/\(user)"), ("X-EventSource-Event", "change"),
                ]
                call.body = method == "GET" ? nil : Array("{}".utf8)
                let reply = try EventStream(call, to: server.address)
                #expect(reply.status == 404, "\(method) \(path): \(reply.status)")
            }
        }
        // Clients must not choose message ids: nchan 1.3.6 does not handle all of them.
        for header in ["If-None-Match", "If-Modified-Since"] {
            var call = alice.changesCall()
            call.headers.append((header, "Mon, 01 Jan 2024 00:00:00 GMT"))
            expectError(try server.address.perform(call), 400)
        }
        while try stream.next(within: .milliseconds(200)) != nil {}
        #expect(stream.isOpen)
        #expect(try alice.commit(masterVersion: 0).status == 200)
        #expect(try stream.changed(alice.group, to: 1))
    }

    @Test("Other users of the host cannot reach the publisher's socket [389]")
    func publisherSocket() throws {
        let socket = try server.environment.value("CHANGES_SOCKET")
        let folder = (socket as NSString).deletingLastPathComponent
        let mode = try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int
        #expect(mode.map { $0 & 0o007 } == 0)
    }

    @Test("Monitoring counts listeners and signals [390]")
    func metrics() async throws {
        let alice = try server.signUpOwningUser()
        let stream = try alice.listening()
        #expect(try alice.commit(masterVersion: 0).status == 200)
        #expect(try stream.changed(alice.group, to: 1))
        let samples = try MetricsPages(server).samples()
        #expect(samples["syncd_change_listeners"] ?? 0 >= 1)
        #expect(samples[#"syncd_change_signals_total{outcome="published"}"#] ?? 0 >= 1)
    }
}

extension PrivateStackTests {
    @Suite("A web server that cannot publish signals")
    struct LostSignalTests {
        @Test("Commits succeed, and later signals arrive [391]")
        func lost() async throws {
            let server = try TestServer.toBreak()
            let alice = try server.signUpOwningUser()
            let socket = try server.environment.value("CHANGES_SOCKET")
            try FileManager.default.moveItem(atPath: socket, toPath: socket + ".away")
            #expect(try alice.commit(masterVersion: 0).status == 200)
            try FileManager.default.moveItem(atPath: socket + ".away", toPath: socket)
            let stream = try alice.listening()
            #expect(try alice.commit(masterVersion: 1).status == 200)
            #expect(try stream.changed(alice.group, to: 2))
        }
    }
}
