internal import FoundationEssentials

/// A device of the page for people, and its memory. It asks the server for its groups and files, as an app would.
///
/// Lost when the sandbox ends; the person then has a new device.
struct Phone: Sendable {
    /// The server's identifier of the device.
    let device: String
    /// The outcome of the latest action; `nil` before the first.
    var outcome: Outcome?
    /// The requests of the latest action, with their replies.
    var calls: [PhoneCall] = []
    /// The most recently downloaded file.
    var download: Download?

    /// A phone at the start of an action: a new device unless one is given.
    init(device: String = UUID().uuidString) { self.device = device }

    /// The outcome of an action, in a sentence.
    struct Outcome: Sendable {
        let sentence: String
        let isSuccess: Bool
    }

    /// A downloaded file, in memory: at most ``PhoneSession/longestFile`` bytes.
    struct Download: Sendable {
        let file: String
        let mimeType: String
        let bytes: [UInt8]
    }
}

/// A phone's request and the reply, as shown on the page.
struct PhoneCall: Sendable {
    let method: String
    /// Path and query.
    let target: String
    let headers: [(name: String, value: String)]
    /// The number of body bytes sent.
    let sentBytes: Int
    let outcome: Result<AppServer.Reply, AppServer.Unreachable>

    /// The JSON of the reply; it is in a header if the body is a file.
    var json: JSONValue? {
        guard case .success(let reply) = outcome else { return nil }
        let bytes = reply.header("syncserver-message-params").map { Array($0.utf8) } ?? reply.body
        return try? JSONValue(parsing: bytes)
    }

    /// The HTTP status; `nil` if there was no reply.
    var status: Int? { (try? outcome.get())?.status }
}
