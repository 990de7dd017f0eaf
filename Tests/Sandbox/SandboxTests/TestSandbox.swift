import FoundationEssentials
import Posix
import Synchronization
import Testing

@testable import Sandbox

extension StateDirectory {
    /// A separate directory for one test, which must remove it.
    static func ofOneTest() throws -> StateDirectory {
        try StateDirectory(
            FileManager.default.temporaryDirectory.appending(path: "sandbox-tests-\(UUID().uuidString)").path)
    }
}

/// A sandbox for one test, which removes its directory.
final class TestSandbox: Sendable {
    let server: SandboxServer
    let directory: StateDirectory

    init(
        breaks: Set<SandboxServer.Break> = [], directory: StateDirectory? = nil, appServer: AppServer? = nil
    ) throws {
        let directory = try directory ?? StateDirectory.ofOneTest()
        self.directory = directory
        let waited = WaitedTime()
        server = try SandboxServer(
            directory: directory, breaks: breaks, appServer: appServer,
            clock: { Date(timeIntervalSince1970: 1_800_000_000) },
            wait: { waited.add($0) })
        waitedTime = waited
    }

    private let waitedTime: WaitedTime
    /// The delays of faults, which are recorded instead of waited for.
    var waitedMilliseconds: Int { waitedTime.total }

    deinit { try? FileManager.default.removeItem(atPath: directory.path) }

    /// Sends a request; a path that begins with `/sandbox` addresses the control interface.
    @discardableResult
    func send(
        _ method: String, _ url: String, token: String? = nil, headers: [(String, String)] = [], body: [UInt8] = []
    ) -> SandboxResponse {
        send(method, url, token: token, headers: headers, body: RequestBody(body))
    }

    @discardableResult
    func send(
        _ method: String, _ url: String, token: String? = nil, headers: [(String, String)] = [], body: RequestBody
    ) -> SandboxResponse {
        let isControl = url.hasPrefix("/")
        let parts = url.split(separator: "/", maxSplits: 1)
        var all = headers.map { (name: $0.0, value: $0.1) }
        if let token { all.append(("Authorization", "Bearer " + token)) }
        return server.respond(
            to: SandboxRequest(
                method: method, host: isControl ? "127.0.0.1:8080" : String(parts[0]),
                target: isControl ? url : "/" + parts[1], headers: all, isSecure: !isControl, body: body))
    }

    /// Sends JSON.
    @discardableResult
    func send(_ method: String, _ url: String, token: String? = nil, json: JSONValue) -> SandboxResponse {
        send(method, url, token: token, headers: [("Content-Type", "application/json")], body: json.bytes())
    }

    /// Sends a form to Google's token route.
    func token(_ fields: [String: String]) -> SandboxResponse {
        let form = fields.map { PercentEncoding.encode($0.key) + "=" + PercentEncoding.encode($0.value) }
        return send(
            "POST", "oauth2.googleapis.com/token",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.joined(separator: "&").utf8))
    }

    /// Creates an account, and returns the reply's JSON.
    func account(_ json: JSONValue = ["provider": "google", "name": "Alice"]) throws -> JSONValue {
        let response = send("POST", "/sandbox/accounts", json: json)
        #expect(response.status == 201)
        return try response.json()
    }

    /// The rules that clients violated.
    func violations() throws -> [String] {
        try send("GET", "/sandbox/violations").json().array?.compactMap { $0["rule"]?.string } ?? []
    }

    private final class WaitedTime: Sendable {
        private let sum = Mutex(0)
        func add(_ milliseconds: Int) { sum.withLock { $0 += milliseconds } }
        var total: Int { sum.withLock { $0 } }
    }
}

extension SandboxResponse {
    /// The body as JSON.
    func json() throws -> JSONValue {
        guard case .bytes(let bytes) = body else { return .null }
        return try JSONValue(parsing: bytes)
    }

    /// The body's bytes, read from the file if the body is one.
    func content() throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .file(let path, let offset, let count): return Array(try TextFile.read(path)[offset..<offset + count])
        case .announced: return []
        case .stream(let read, let count):
            var bytes: [UInt8] = []
            while bytes.count < count {
                let piece = try read(count - bytes.count)
                if piece.isEmpty { break }
                bytes += piece
            }
            return bytes
        }
    }
}

/// A signed-in user of Drive.
struct DriveUser {
    let sandbox: TestSandbox
    let id: String
    let token: String
    static let files = "www.googleapis.com/drive/v3/files"
    static let upload = "www.googleapis.com/upload/drive/v3/files"

    init(_ sandbox: TestSandbox, _ json: JSONValue = ["provider": "google", "name": "Alice"]) throws {
        self.sandbox = sandbox
        let account = try sandbox.account(json)
        id = try #require(account["id"]?.string)
        token = try #require(account["accessToken"]?.string)
    }

    /// Creates a file or folder from metadata alone, and returns its id.
    func create(_ metadata: JSONValue) throws -> String {
        let response = sandbox.send("POST", Self.files, token: token, json: metadata)
        return try #require(try response.json()["id"]?.string, "\(response)")
    }

    /// The names found by a search, in order.
    func search(_ query: String, _ more: String = "") throws -> [String] {
        let response = sandbox.send("GET", Self.files + "?q=" + PercentEncoding.encode(query) + more, token: token)
        return try #require(try response.json()["files"]?.array).compactMap { $0["name"]?.string }
    }

    /// Starts a resumable upload, and returns the session's URL without the scheme.
    func startUpload(_ metadata: JSONValue, headers: [(String, String)] = [], query: String = "") throws -> String {
        let response = sandbox.send(
            "POST", Self.upload + "?uploadType=resumable" + query, token: token,
            headers: [("Content-Type", "application/json")] + headers, body: metadata.bytes())
        return String(try #require(response.header("Location"), "\(response)").dropFirst(8))
    }

    /// Sends a chunk.
    func put(_ url: String, _ range: String, _ body: [UInt8] = []) -> SandboxResponse {
        sandbox.send("PUT", url, token: token, headers: [("Content-Range", range)], body: body)
    }
}
