import Foundation
import TestSupport

/// Finds out from the stack's logs when requests whose phones are gone have come to their end.
///
/// nginx writes a line for each request, with its number and whether a responder had it; the responder writes one with the
/// same number when it is done, whatever became of the phone.
struct Settlement {
    private var webServer: LogTail
    private var responders: [LogTail]
    private let metrics: MetricsPages
    private var open: Set<String> = []
    private var seen = 0

    /// Begins at the present end of the logs; nothing must be in flight.
    init(_ server: TestServer) throws {
        metrics = try MetricsPages(server)
        let folder = URL(filePath: try server.environment.value("LOG_DIR"))
        webServer = try LogTail(folder.appending(path: "nginx-access.log"))
        responders = try ["syncd-api.log", "syncd-transfer.log"].map { try LogTail(folder.appending(path: $0)) }
    }

    /// Waits until `count` requests made since the beginning have ended.
    ///
    /// A request that a phone drops in the very moment in which nginx or a responder takes it up leaves no line there, and
    /// has no effect. So what has not been heard of for longer than any request takes is taken for one of these.
    mutating func wait(for count: Int) async throws {
        var settlement = self
        do {
            try await eventually("\(count) requests have ended", within: .seconds(6)) {
                try settlement.haveEnded(count)
            }
        } catch is NotEventually {
            // Nothing will come of what has not begun; what has begun may take its time on a busy machine.
            try await eventually("what responders have begun has ended", within: .seconds(60)) {
                let isOver = try settlement.haveEnded(count)
                return try isOver || settlement.nothingIsInProgress()
            }
        }
        self = settlement
    }

    private mutating func haveEnded(_ count: Int) throws -> Bool {
        for line in try webServer.newLines() {
            guard let path = line.path?.text, !path.hasPrefix("/sandbox"), let id = line.request_id?.text else {
                continue
            }
            seen += 1
            let time = line.upstream_s?.text ?? ""
            // Empty or a dash if no responder was ever asked.
            if time.contains(where: \.isNumber) { open.insert(id) }
        }
        for index in responders.indices {
            for line in try responders[index].newLines() where line.message?.text == "Request" {
                if let id = line.request_id?.text { done.insert(id) }
            }
        }
        return seen >= count && open.isSubset(of: done)
    }

    private var done: Set<String> = []

    /// Whether no living responder handles a request.
    private func nothingIsInProgress() throws -> Bool {
        try metrics.samples().filter { $0.key.hasPrefix("syncd_requests_in_flight") }.values.allSatisfy { $0 == 0 }
    }
}

/// The lines that are added to a log of JSON lines.
private struct LogTail {
    private let file: FileHandle
    private var rest: [UInt8] = []

    init(_ url: URL) throws {
        file = try FileHandle(forReadingFrom: url)
        try file.seekToEnd()
    }

    mutating func newLines() throws -> [JSONValue] {
        rest += try file.readToEnd() ?? Data()
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        let lines = rest[...end].split(separator: UInt8(ascii: "\n"))
        rest = Array(rest[(end + 1)...])
        return lines.compactMap { JSONValue($0) }
    }
}

extension TestServer {
    /// Waits until the database has carried out what responders asked for, also those that were killed since.
    func awaitQuietDatabase() async throws {
        let question =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE user LIKE 'syncd%' AND command <> 'Sleep'"
        try await eventually("the database is idle") {
            try askDatabase(question) == "0"
        }
    }

    /// Makes work of the outbox due that was put off, perhaps for a day: a trouble meant for a phone may have met it.
    func hastenOutbox() throws {
        _ = try askDatabase("UPDATE outbox SET available_at = UTC_TIMESTAMP() WHERE lease_owner IS NULL")
    }
}
