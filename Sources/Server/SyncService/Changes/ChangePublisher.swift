import HTTPTransport
public import Logging
import OpenSSLCrypto
import Posix
public import Store
import SyncProtocol

/// Publishes changes to the listeners of this host, and records them for the other hosts.
///
/// Runs on its own thread, after the commits: a slow or stopped web server delays nobody, and signals that it misses
/// are lost. Listeners learn of these changes with their next Index.
public struct ChangePublisher: Sendable {
    /// How often the jobs role reads the changes that other hosts have recorded.
    private static let relayInterval: Duration = .milliseconds(100)
    private static let idleInterval: Duration = .seconds(1)
    /// How often old streams are ended, and old rows removed.
    private static let sweepInterval: Duration = .seconds(10)
    private static let rowsRemoved = 10_000

    /// The outcome of signals, for statistics.
    public enum Outcome: Sendable {
        /// The web server has accepted them.
        case published
        /// They were lost.
        case lost
    }

    private let streams: ChangeStreams
    private let store: MetadataStore
    private let channels: ChangeChannels
    /// Whether there are other hosts.
    private let tellsOthers: Bool
    /// Whether this process publishes the changes that other hosts have recorded.
    private let relays: Bool
    private let observer: @Sendable (Outcome, Int) -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - socket: the Unix socket of the web server's publisher.
    ///   - hostName: this host's name.
    ///   - wait: waits until ``ChangeStreams`` rings, at most for the given time.
    public init(
        streams: ChangeStreams, store: MetadataStore, socket: String, tellsOthers: Bool, relays: Bool, hostName: String,
        observer: @escaping @Sendable (Outcome, Int) -> Void, logger: Logger
    ) {
        self.streams = streams
        self.store = store
        channels = ChangeChannels(socket: socket)
        self.tellsOthers = tellsOthers
        self.relays = relays && tellsOthers
        origin =
            Array(IncrementalDigest.digest(of: Array("\(hostName) \(socket)".utf8), .sha256).prefix(16))
            .hexLowercase
        self.observer = observer
        self.logger = logger
    }

    /// Identifies this host among those that share the database.
    private let origin: String

    /// Publishes until `goesOn` is false.
    /// - Parameters:
    ///   - wait: waits until the streams ring, at most for the given time.
    public func run(while goesOn: () -> Bool, wait: (Duration) -> Void) {
        var seen: Set<Int64> = []
        var isFailing = false
        var nextSweep = ContinuousClock.now
        if relays { _ = try? store.withSession { try $0.signals(seen: &seen, exceptFrom: origin) } }
        while goesOn() {
            wait(relays ? Self.relayInterval : Self.idleInterval)
            if nextSweep <= .now {
                streams.endOld()
                if relays { try? store.repeatedStatement { try $0.forgetSignals(limit: Self.rowsRemoved) } }
                nextSweep = .now + Self.sweepInterval
            }
            let own = streams.take()
            var count = own.count
            do {
                if tellsOthers, !own.isEmpty { try store.withSession { try $0.leave(own, from: origin) } }
                var all = own
                if relays { all.add(try store.withSession { try $0.signals(seen: &seen, exceptFrom: origin) }) }
                count = all.count
                if !all.isEmpty {
                    try publish(all)
                    observer(.published, count)
                    if isFailing { logger.notice("Signals about changes are published again") }
                    isFailing = false
                }
            } catch {
                observer(.lost, count)
                if !isFailing {
                    logger.warning(
                        "Signals about changes are lost; clients learn of the changes later",
                        metadata: .keyed([.reason: "\(String(reflecting: error))"]))
                }
                isFailing = true
            }
            let lost = streams.takeLost()
            if lost > 0 { observer(.lost, lost) }
        }
    }

    private func publish(_ changes: CommittedChanges) throws {
        for group in changes.groups {
            guard let found = try store.withSession({ try $0.change(of: group) }) else { continue }
            try channels.send(ChangeSignal(change: found.change), .change, to: found.members)
        }
        try channels.send(ChangeSignal(change: nil), .index, to: Array(changes.formerMembers))
        try channels.close(of: Array(changes.endedStreams))
    }
}

/// The web server's channels, one for each user, behind a socket that only this server can reach.
public struct ChangeChannels: Sendable {
    /// nchan publishes to at most 255 channels at once.
    private static let channelsAtOnce = 200
    private static let timeout: Duration = .seconds(2)
    private static let maximumReply = 16_384

    /// The web server does not accept a signal.
    public struct Refused: Error, CustomStringConvertible {
        public let reply: String
        public var description: String { "the web server's publisher replied: \(reply)" }
    }

    let socket: String

    public init(socket: String) { self.socket = socket }

    func send(_ signal: ChangeSignal, _ event: ChangeSignal.Event, to users: [UserID]) throws {
        try request("POST", users, body: signal.body, ["X-EventSource-Event: \(event.rawValue)"])
    }

    /// Ends the streams of users; a user without streams has no channel.
    func close(of users: [UserID]) throws {
        try request("DELETE", users, body: [], [])
    }

    private func request(_ method: String, _ users: [UserID], body: [UInt8], _ headers: [String]) throws {
        var rest = users[...]
        while !rest.isEmpty {
            let path = "/publish/" + rest.prefix(Self.channelsAtOnce).map { "\($0)" }.joined(separator: ",")
            rest = rest.dropFirst(Self.channelsAtOnce)
            let reply = try exchange(method, path, headers, body)
            guard ["200", "201", "202", "404"].contains(where: reply.dropFirst(9).hasPrefix) else {
                throw Refused(reply: String(reply.prefix { !$0.isNewline }))
            }
        }
    }

    /// The number of listeners that this host's web server currently has.
    public func listeners() throws -> Int {
        let reply = try exchange("GET", "/status", [], [])
        let line = reply.split(whereSeparator: \.isNewline).first { $0.hasPrefix("subscribers: ") }
        guard let number = line.flatMap({ Int($0.dropFirst("subscribers: ".count)) }) else {
            throw Refused(reply: String(reply.prefix { !$0.isNewline }))
        }
        return number
    }

    private func exchange(_ method: String, _ path: String, _ headers: [String], _ body: [UInt8]) throws -> String {
        let head =
            ["\(method) \(path) HTTP/1.0", "Host: localhost", "Content-Type: application/json"] + headers
            + ["Content-Length: \(body.count)", "", ""]
        let connection = try UnixConnection(path: socket, timeout: Self.timeout)
        try connection.send(Array(head.joined(separator: "\r\n").utf8) + body)
        return String(decoding: try connection.receiveAll(limit: Self.maximumReply), as: UTF8.self)
    }
}
