internal import FoundationEssentials

/// A device of the page for people: what it remembers. Its groups and files it asks the server for, as an app would.
///
/// Forgotten when the sandbox ends; afterwards the person has a new device.
struct Phone: Sendable {
    /// The id by which the server knows the device.
    let device: String
    /// What came of the newest action; `nil` before the first.
    var outcome: Outcome?
    /// The requests of the newest action, with their replies.
    var calls: [PhoneCall] = []
    /// The file that was downloaded last.
    var download: Download?

    /// A phone at the beginning of an action: a new device, unless the device is given.
    init(device: String = UUID().uuidString) { self.device = device }

    /// What came of an action, in a sentence.
    struct Outcome: Sendable {
        let sentence: String
        let isSuccess: Bool
    }

    /// A downloaded file, in memory: ``PhoneSession/longestFile`` bytes at most.
    struct Download: Sendable {
        let file: String
        let mimeType: String
        let bytes: [UInt8]
    }
}

/// A request of a phone and the reply, as the page shows them.
struct PhoneCall: Sendable {
    let method: String
    /// Path and query.
    let target: String
    let headers: [(name: String, value: String)]
    /// Bytes of the body that were sent.
    let sentBytes: Int
    let outcome: Result<AppServer.Reply, AppServer.Unreachable>

    /// The JSON of the reply: in a header if the body is a file.
    var json: JSONValue? {
        guard case .success(let reply) = outcome else { return nil }
        let bytes = reply.header("syncserver-message-params").map { Array($0.utf8) } ?? reply.body
        return try? JSONValue(parsing: bytes)
    }

    /// The HTTP status; `nil` if no reply came.
    var status: Int? { (try? outcome.get())?.status }
}
