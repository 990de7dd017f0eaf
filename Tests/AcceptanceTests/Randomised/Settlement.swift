import Foundation
import TestSupport

/// Determines from the stack's logs when requests of disconnected phones have ended.
///
/// nginx writes a line for each request, with its id and whether it reached a responder. The responder writes a line
/// with the same id when it has finished, even if the phone is gone.
struct Settlement {
    private var webServer: LogTail
    private var responders: [LogTail]
    private let metrics: MetricsPages
    private var open: Set<String> = []
    private var seen = 0

    /// Begins at the current end of the logs; no request may be in progress.
    init(_ server: TestServer) throws {
        metrics = try MetricsPages(server)
        let folder = URL(filePath: try server.environment.value("LOG_DIR"))
        webServer = try LogTail(folder.appending(path: "nginx-access.log"))
        responders = try ["syncd-api.log", "syncd-transfer.log"].map { try LogTail(folder.appending(path: $0)) }
    }

    /// Waits until `count` requests made since the beginning have ended.
    ///
    /// If a phone disconnects at the moment when nginx or a responder accepts its request, the request leaves no line
    /// and has no effect. A request without a line for longer than any request takes is treated as such a case.
    mutating func wait(for count: Int) async throws {
        var settlement = self
        do {
            try await eventually("\(count) requests have ended", within: .seconds(6)) {
                try settlement.haveEnded(count)
            }
        } catch is NotEventually {
            // Requests that have not begun will have no effect; those in progress may be slow on a busy machine.
            try await eventually("requests in progress have ended", within: .seconds(60)) {
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
            // Empty or a dash if the request reached no responder.
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

    /// Whether no running responder handles a request.
    private func nothingIsInProgress() throws -> Bool {
        try metrics.samples().filter { $0.key.hasPrefix("syncd_requests_in_flight") }.values.allSatisfy { $0 == 0 }
    }
}

/// Reads the lines appended to a log of JSON lines.
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
    /// Waits until the database has finished all statements of responders, including killed ones.
    func awaitQuietDatabase() async throws {
        let question =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE user LIKE 'syncd%' AND command <> 'Sleep'"
        try await eventually("the database is idle") {
            try askDatabase(question) == "0"
        }
    }

    /// Makes postponed outbox work due immediately, since a fault meant for a phone may have postponed it for a day.
    func hastenOutbox() throws {
        _ = try askDatabase("UPDATE outbox SET available_at = UTC_TIMESTAMP() WHERE lease_owner IS NULL")
    }
}
