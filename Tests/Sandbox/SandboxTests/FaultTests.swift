import Testing

@testable import Sandbox

@Suite("Faults")
struct FaultTests {
    private func fault(_ user: DriveUser, _ json: JSONValue) {
        #expect(user.sandbox.send("POST", "/sandbox/faults", json: json).status == 201)
    }

    @Test("A rule skips requests, applies as often as configured, and can be removed")
    func counting() throws {
        let user = try DriveUser(try TestSandbox())
        fault(user, ["host": "www.googleapis.com", "pathPrefix": "/drive/v3/", "status": 503, "skip": 1, "times": 2])

        let statuses = (0..<4).map { _ in user.sandbox.send("GET", DriveUser.files, token: user.token).status }

        #expect(statuses == [200, 503, 503, 200])
        #expect(try user.sandbox.send("GET", "/sandbox/faults").json() == [])
    }

    @Test("Host, path and method must all match")
    func matching() throws {
        let user = try DriveUser(try TestSandbox())
        fault(user, ["host": "oauth2.googleapis.com", "status": 500])
        fault(user, ["method": "DELETE", "status": 500])
        fault(user, ["pathPrefix": "/upload", "status": 500])

        #expect(user.sandbox.send("GET", DriveUser.files, token: user.token).status == 200)
        #expect(user.sandbox.token([:]).status == 500)
    }

    @Test("afterEffect performs the request and loses the reply")
    func afterEffect() throws {
        let user = try DriveUser(try TestSandbox())
        fault(user, ["method": "POST", "afterEffect": true, "times": 1])

        let lost = user.sandbox.send("POST", DriveUser.files, token: user.token, json: ["name": "a"])

        #expect(lost.isCut)
        #expect(try user.search("name = 'a'") == ["a"])
    }

    @Test("A reset before the effect leaves nothing behind")
    func reset() throws {
        let user = try DriveUser(try TestSandbox())
        fault(user, ["method": "POST", "resetAfterBytes": 1_000_000, "times": 1])

        let lost = user.sandbox.send("POST", DriveUser.files, token: user.token, json: ["name": "a"])

        #expect(lost.isCut)
        #expect(try user.search("name = 'a'") == [])
    }

    @Test("Status, Retry-After, latency and truncation of several rules are combined")
    func composition() throws {
        let user = try DriveUser(try TestSandbox())
        fault(user, ["status": 429, "retryAfter": 7, "times": 1])
        fault(user, ["latencyMs": 250, "truncateAfterBytes": 5, "times": 2])

        let first = user.sandbox.send("GET", DriveUser.files, token: user.token)
        let second = user.sandbox.send("GET", DriveUser.files, token: user.token)

        #expect(first.status == 429)
        #expect(first.header("Retry-After") == "7")
        #expect(second.truncateAfterBytes == 5)
        #expect(user.sandbox.waitedMilliseconds == 500)
    }

    @Test("The same seed affects the same requests")
    func probability() throws {
        func pattern(_ seed: Int) throws -> [Int] {
            let user = try DriveUser(try TestSandbox())
            fault(user, ["status": 500, "probability": .double(0.5), "seed": .int(seed)])
            return (0..<32).map { _ in user.sandbox.send("GET", DriveUser.files, token: user.token).status }
        }

        #expect(try pattern(1) == pattern(1))
        #expect(try pattern(1) != pattern(2))
        #expect(Set(try pattern(1)) == [200, 500])
    }

    @Test(
        "An empty or unknown rule is rejected",
        arguments: ["{}", #"{"stauts":500}"#, #"{"status":"x"}"#, "[]"])
    func refused(body: String) throws {
        let response = try TestSandbox().send(
            "POST", "/sandbox/faults", headers: [("Content-Type", "application/json")], body: Array(body.utf8))

        #expect(response.status == 400)
    }

    @Test("The log counts requests to the providers, and contains no secrets")
    func log() throws {
        let user = try DriveUser(try TestSandbox())
        user.sandbox.send("GET", "www.googleapis.com/oauth2/v3/userinfo?access_token=" + user.token)
        user.sandbox.send("GET", DriveUser.files, token: user.token)

        let all = try #require(try user.sandbox.send("GET", "/sandbox/requests").json().array)
        let later = try #require(try user.sandbox.send("GET", "/sandbox/requests?since=1").json().array)

        #expect(all.compactMap { $0["path"]?.string } == ["/oauth2/v3/userinfo", "/drive/v3/files"])
        #expect(all[0]["query"] == "access_token=<redacted>")
        #expect(later.count == 1)
    }
}
