import Foundation
import SyncProtocol
import Synchronization

/// Waits on the local machine for the browser's redirect (RFC 8252, section 7.3).
///
/// Listens on loopback only. Browsers open connections speculatively and request icons, and other programs may send
/// anything: each connection may send a few kilobytes within a few seconds, and receives one reply; none blocks
/// another.
final class LoopbackListener: Sendable {
    /// The maximum number of concurrent connections; further ones wait.
    private static let maximumConnections = 32
    /// Maximum size of a request's head in bytes. Codes take a few hundred; RFC 9112, section 3, recommends 8,000 for
    /// the request line.
    private static let maximumHead = 16_384
    /// How long a connection may be idle.
    private static let idleTime: Duration = .seconds(10)

    let port: UInt16
    private let host: LoopbackRedirectURI.Host
    private let sockets: [Descriptor]
    private let waking: (reading: Descriptor, writing: Descriptor)
    private let isStopped = Mutex(false)

    /// - Parameters:
    ///   - host: the host name of the redirect URI; for `localhost` the listener uses both of its addresses.
    ///   - ports: the ports to try, in this order; empty for any.
    /// - Throws: ``SignInError/Code/portUnavailable``.
    init(host: LoopbackRedirectURI.Host, ports: [UInt16]) throws(SignInError) {
        var found: [Descriptor] = []
        // With two addresses and any port, the second address's port may happen to be in use.
        for port in ports.isEmpty ? Array(repeating: 0, count: 8) : ports where found.isEmpty {
            found = (try? Self.listen(host, port)) ?? []
        }
        do {
            guard let first = found.first else { throw SignInError(.portUnavailable) }
            port = try Sockets.port(of: first)
            waking = try Sockets.wakePair()
        } catch let failure as Sockets.Failure {
            throw SignInError(.failed, "\(failure.call) \(failure.number)")
        } catch { throw SignInError(.portUnavailable) }
        self.host = host
        sockets = found
    }

    private static func listen(
        _ host: LoopbackRedirectURI.Host, _ port: UInt16
    ) throws(Sockets.Failure) -> [Descriptor] {
        guard host != .ipv6 else { return [try Sockets.listener(port: port, isIPv6: true)] }
        let first = try Sockets.listener(port: port, isIPv6: false)
        guard host == .localhost else { return [first] }
        do {
            return [first, try Sockets.listener(port: try Sockets.port(of: first), isIPv6: true)]
        } catch {
            // Another program that listens on ::1 would receive requests meant for this listener; without IPv6 that
            // cannot happen.
            guard !error.isAddressInUse else { throw error }
            return [first]
        }
    }

    /// Answers requests until one receives a final reply.
    ///
    /// - Parameter respond: called on one thread, for each `GET` addressed to the listener's own host name.
    /// - Throws: ``SignInError/Code/timedOut``, ``SignInError/Code/cancelled``.
    func serve(
        for time: Duration, _ respond: @escaping @Sendable (RequestTarget) -> LoopbackReply
    ) async throws(SignInError) {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: self.run(for: time, respond)) }
            }
        } onCancel: {
            stop()
        }
        try result.get()
    }

    private func stop() {
        isStopped.withLock { $0 = true }
        Sockets.wake(waking.writing)
    }

    /// The state of one connection, from request to reply.
    private struct Connection {
        let socket: Descriptor
        let deadline: ContinuousClock.Instant
        var head: [UInt8] = []
        /// `nil` until the request has been read.
        var reply: ArraySlice<UInt8>?
        var isLast = false
    }

    private func run(
        for time: Duration, _ respond: (RequestTarget) -> LoopbackReply
    ) -> Result<Void, SignInError> {
        let end = ContinuousClock.now + time
        var connections: [Connection] = []
        while !isStopped.withLock({ $0 }) {
            let now = ContinuousClock.now
            guard now < end else { return .failure(SignInError(.timedOut)) }
            connections.removeAll { $0.deadline <= now }
            let listening = connections.count < Self.maximumConnections ? sockets : []
            let wanted =
                [(descriptor: waking.reading, forWriting: false)]
                + listening.map { (descriptor: $0, forWriting: false) }
                + connections.map { (descriptor: $0.socket, forWriting: $0.reply != nil) }
            let next = connections.map(\.deadline).min().map { min($0, end) } ?? end
            let ready = Sockets.wait(wanted, milliseconds: Self.milliseconds(next - now))
            let readyConnections = ready.dropFirst(1 + listening.count)
            for (index, isReady) in zip(connections.indices, readyConnections).reversed() where isReady {
                switch proceed(&connections[index], respond) {
                case .going: break
                case .ended: connections.remove(at: index)
                case .finished: return .success(())
                }
            }
            for (socket, isReady) in zip(listening, ready.dropFirst()) where isReady {
                guard let accepted = Sockets.nextConnection(socket) else { continue }
                connections.append(Connection(socket: accepted, deadline: .now + Self.idleTime))
            }
        }
        return .failure(SignInError(.cancelled))
    }

    private enum Progress {
        case going, ended, finished
    }

    private func proceed(_ connection: inout Connection, _ respond: (RequestTarget) -> LoopbackReply) -> Progress {
        if connection.reply == nil {
            guard let bytes = Sockets.receive(connection.socket, atMost: 4_096) else { return .going }
            guard !bytes.isEmpty else { return .ended }
            connection.head += bytes
            guard let reply = reply(to: connection.head, respond) else { return .going }
            connection.reply = reply.bytes[...]
            connection.isLast = reply.isLast
        }
        guard let reply = connection.reply else { return .going }
        guard let count = Sockets.transmit(connection.socket, reply) else {
            // The client that sent the code may disconnect before the page arrives.
            return connection.isLast ? .finished : .ended
        }
        connection.reply = reply.dropFirst(count)
        guard connection.reply?.isEmpty == true else { return .going }
        Sockets.finish(connection.socket)
        return connection.isLast ? .finished : .ended
    }

    /// The reply to a request; `nil` while its head is not complete.
    private func reply(to head: [UInt8], _ respond: (RequestTarget) -> LoopbackReply) -> LoopbackReply? {
        guard let end = Self.endOfHead(head) else {
            return head.count < Self.maximumHead ? nil : LoopbackReply(status: 431, text: "The request is too long.")
        }
        guard let request = LoopbackRequest(Array(head[..<end])), let target = RequestTarget(request.target) else {
            return LoopbackReply(status: 400, text: "This request does not belong here.")
        }
        // Protects against DNS rebinding: a web page could send requests under a name that resolves to this machine.
        guard request.host?.lowercased() == "\(host.rawValue):\(port)" else { return .notFound }
        guard request.method == "GET" else { return LoopbackReply(status: 405, text: "Only GET is supported here.") }
        return respond(target)
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        let mark: [UInt8] = [13, 10, 13, 10]
        guard bytes.count >= mark.count else { return nil }
        return (0...bytes.count - mark.count).first { bytes[$0..<$0 + mark.count].elementsEqual(mark) }
    }

    private static func milliseconds(_ duration: Duration) -> Int32 {
        Int32(
            clamping: duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000 + 1)
    }
}

/// The reply to the browser.
struct LoopbackReply: Sendable, Equatable {
    var status: Int
    /// Where to redirect the browser; `nil` to show ``text``.
    var location: String?
    /// A sentence for the user.
    var text: String
    /// Whether this reply completes the sign-in.
    var isLast = false

    static let notFound = LoopbackReply(status: 404, text: "Nothing was found here.")

    /// The serialized reply (RFC 9112); one for each connection.
    var bytes: [UInt8] {
        let page =
            "<!doctype html><html lang=en><meta charset=utf-8><title>Sign-in</title>"
            + "<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;margin:4rem auto;"
            + "max-width:30rem;padding:0 1rem}</style><p>" + Self.escape(text) + "</p></html>\n"
        var head = "HTTP/1.1 \(status) \(Self.phrase(status))\r\n"
        if let location { head += "Location: \(location)\r\n" }
        if status == 405 { head += "Allow: GET\r\n" }
        head += "Content-Type: text/html; charset=utf-8\r\nContent-Length: \(page.utf8.count)\r\n"
        // The URL contains the code: it must be neither cached nor passed on.
        head += "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        head += "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n"
        return Array((head + "Connection: close\r\n\r\n" + page).utf8)
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 302: "Found"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 431: "Request Header Fields Too Large"
        default: "Bad Request"
        }
    }

    private static func escape(_ text: String) -> String {
        // By scalars: with a combining mark after it, "<" is another character.
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}

/// The head of a request to the listener, as far as it is needed.
struct LoopbackRequest: Sendable, Equatable {
    let method: String
    let target: String
    /// Includes the port.
    let host: String?

    /// `nil` if it is not HTTP/1.
    init?(_ head: [UInt8]) {
        guard let text = String(validating: head, as: UTF8.self) else { return nil }
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
        (method, target) = (String(words[0]), String(words[1]))
        let hosts = lines.dropFirst().compactMap { line -> String? in
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2, halves[0].lowercased() == "host" else { return nil }
            return halves[1].filter { $0 != " " && $0 != "\t" }
        }
        guard hosts.count <= 1 else { return nil }
        host = hosts.first
    }
}

/// The target of a request line (RFC 9112, section 3.2.1), with its query parsed.
struct RequestTarget: Sendable, Equatable {
    let path: String
    private let items: [Item]

    private struct Item: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// `nil` if it is not of the form `/path?query`, or has a malformed escape.
    init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        let halves = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(halves[0])
        var items: [Item] = []
        for pair in halves.count == 2 ? halves[1].split(separator: "&") : [] {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = FormText.decode(parts[0]), let value = FormText.decode(parts.count == 2 ? parts[1] : "")
            else { return nil }
            items.append(Item(name: name, value: value))
        }
        self.items = items
    }

    /// The value of a parameter that occurs exactly once.
    func single(_ name: String) -> String? {
        let found = items.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }
}
