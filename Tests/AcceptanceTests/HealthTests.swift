import Foundation
import TestSupport
import Testing

@Suite("HealthCheck and properties of all replies")
struct HealthTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("HealthCheck returns date, uptime and version without credentials [1] [2] [3] [4]")
    func healthCheck() throws {
        let reply = try server.call("GET", "HealthCheck")

        expectJSON(reply)
        #expect(reply.json?.serverUptime?.number ?? 0 > 0)
        #expect(isWireDate(reply.json?.currentServerDateTime?.text))
        #expect(reply.json?.deployedGitTag?.text == reply.values(of: "syncserver-version").first)
        let types = reply.json?["mimeTypes"]?.array?.compactMap(\.text) ?? []
        #expect(types.count == 19 && types == types.sorted())
        #expect(Set(["text/plain", "image/jpeg", "application/x-url", "image/heic", "video/mp4"]).isSubset(of: types))
    }

    @Test("The server's clock is UTC and correct [4] [87]")
    func clock() throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"

        let date = try #require(formatter.date(from: try server.clock()))

        #expect(abs(date.timeIntervalSinceNow) < 10)
    }

    @Test("Every reply, on success and failure, has exactly one version header in lower case [5] [6] [13]")
    func versionHeader() throws {
        let user = try server.signUpOwningUser()
        let replies = [
            try server.call("GET", "HealthCheck"), try server.call("GET", "Nowhere"), try user.checkCredentials(),
            try server.call("GET", "CheckCreds"), try user.call("GET", "Index"),
            try user.upload(TestFile(), masterVersion: 0), try user.upload(TestFile(), masterVersion: 7),
            try user.call("POST", "DoneUploads"),
        ]

        for reply in replies {
            expectVersion(reply)
            let special = reply.headers.map(\.name).filter { $0.lowercased().hasPrefix("syncserver-") }
            #expect(special.allSatisfy { $0 == $0.lowercased() })
        }
    }

    @Test("The status line has version, status and reason phrase, since some systems read nothing else")
    func statusLine() throws {
        for (path, line) in [("/HealthCheck/", "HTTP/1.1 200 OK"), ("/CheckCreds/", "HTTP/1.1 401 Unauthorized")] {
            let socket = try ClientSocket(host: server.address.host, port: server.address.port, timeout: .seconds(90))
            try socket.send(HTTPCall("GET", path).head(for: server.address).utf8)
            var head: [UInt8] = []
            while !head.contains(UInt8(ascii: "\n")) {
                let more = try socket.receive(upTo: 1024)
                try #require(!more.isEmpty)
                head += more
            }
            #expect(String(decoding: head, as: UTF8.self).hasPrefix(line + "\r\n"))
        }
    }

    @Test("A path works with and without its trailing slash [10]")
    func trailingSlash() throws {
        let user = try server.signUpOwningUser()

        for path in ["/HealthCheck", "/HealthCheck/", "/CheckCreds", "/CheckCreds/"] {
            let reply = try server.address.perform(HTTPCall("GET", path, headers: user.headers))
            expectJSON(reply)
        }
        let query = ClientQuery.text(["sharingGroupUUID": user.group])
        let bare = try server.address.perform(HTTPCall("GET", "/Index\(query)", headers: user.headers))
        let slashed = try server.address.perform(HTTPCall("GET", "/Index/\(query)", headers: user.headers))
        #expect(bare.json == slashed.json && bare.json != nil)
    }

    @Test(
        "Paths match case-sensitively and completely [7]",
        arguments: ["/healthcheck/", "/HealthCheck/more", "/HealthChec", "/"])
    func exactPaths(path: String) throws {
        expectError(try server.address.perform(HTTPCall("GET", path)), 404)
    }

    @Test("An unknown path is a 404 with a JSON error [7] [11] [F31]")
    func unknownPath() throws {
        expectError(try server.call("POST", "NoSuchEndpoint"), 404)
    }

    @Test("A known path with a wrong method is a 405 that names the right one [11]")
    func wrongMethod() throws {
        let reply = try server.call("POST", "HealthCheck")

        expectError(reply, 405)
        #expect(reply.values(of: "allow").joined().contains("GET"))
    }

    @Test("No reply sets a cookie, and a cookie in the request has no effect [F36]")
    func cookies() throws {
        let alice = try server.signUpOwningUser()
        let cookie = (name: "Cookie", value: "session=1")

        let replies = [
            try server.call("GET", "HealthCheck"), try server.call("GET", "Index", headers: [cookie]),
            try alice.call("GET", "Index"), try server.call("GET", "Index", headers: alice.headers + [cookie]),
        ]

        #expect(replies.map(\.status) == [200, 401, 200, 200])
        for reply in replies { #expect(reply.values(of: "set-cookie").isEmpty) }
    }

    @Test("The failure header has no effect on a release build, and makes a debugging build fail [8] [9]")
    func failureHeader() throws {
        let reply = try server.call("GET", "HealthCheck", headers: [("SyncServer-FailureTest", "1")])

        if try server.isDebuggingBuild() { expectError(reply, 500) } else { expectJSON(reply) }
    }

    @Test("CheckPrimaryCreds is unknown to a release build; a debugging build reports a token's validity [17] [18]")
    func checkPrimaryCreds() throws {
        let newcomer = try server.newcomer()
        let good = try newcomer.call("GET", "CheckPrimaryCreds")
        let junk = newcomer.with(account: newcomer.account.replacing(header: "access_token", with: "junk"))
        let bad = try junk.call("GET", "CheckPrimaryCreds")

        if try server.isDebuggingBuild() {
            expectJSON(good)
            #expect(good.json == .object([:]))
            expectError(bad, 401)
        } else {
            expectError(good, 404)
            expectError(bad, 404)
        }
    }

    @Test("Endpoints of level none ignore credentials, valid or not, and require no device [14] [15]")
    func credentialsIgnored() throws {
        let user = try server.signUpOwningUser()
        let junk = user.account.replacing(header: "access_token", with: "junk")

        expectJSON(try user.call("GET", "HealthCheck"))
        expectJSON(try user.with(account: junk).call("GET", "HealthCheck"))
        expectJSON(try server.call("GET", "HealthCheck", headers: user.account.headers))
    }

    @Test("No minimum client version is announced unless it is configured [12]")
    func minimumClientVersion() throws {
        for reply in [try server.call("GET", "HealthCheck"), try server.call("GET", "Nowhere")] {
            #expect(reply.values(of: "syncserver-minimum-ios-client-app-version").isEmpty)
        }
    }
}
