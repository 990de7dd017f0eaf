import Foundation
import HTTPTypes
public import SyncProtocol
import Synchronization

/// What a listener learns about the caller's groups.
public enum ListenedSignal: Sendable, Hashable {
    /// The server waits for changes on this connection: until it ends, no request is needed to learn of them.
    case listening
    /// A signal; see ``ChangeSignal``.
    case signal(ChangeSignal)
}

extension ServerConnection {
    /// The longest pause between two lines of a stream: the server sends one every 30 s.
    private static let silence: Duration = .seconds(75)

    /// Listens for changes in the caller's groups until the server ends the connection, which it does at least once an
    /// hour, and at once if `known` is not the current state. Call it again then.
    ///
    /// Executors that do not stream replies get one signal for each call (long polling).
    /// - Parameters:
    ///   - known: The result of the previous call, or the entity tag of an Index without a group; nil for none.
    ///   - receive: Called for each signal, one call at a time, on any thread.
    /// - Returns: The state to name in the next call.
    /// - Throws: ``ServerConnectionError/Code/refused`` with ``ErrorCode/endpointUnknown`` if the server offers no
    ///   signals or is too old; others.
    public func listen(
        after known: String? = nil, _ receive: @escaping @Sendable (ListenedSignal) -> Void
    ) async throws(ServerConnectionError) -> String? {
        var call = Call(ChangesRequest(), repetition: .ifNotCarriedOut)
        call.idleTimeout = Self.silence
        call.headers[RequestHeader.lastEventID.fieldName] = known
        guard executor.streamsReplies else { return try await poll(call, after: known, receive) }
        call.headers[RequestHeader.accept.fieldName] = ChangeSignal.streamType
        let parser = EventStreamReader(after: known, receive)
        call.arriving = { parser.read($0) }
        return try await perform(call) { _ in parser.lastEventID }
    }

    private func poll(
        _ call: Call, after known: String?, _ receive: @escaping @Sendable (ListenedSignal) -> Void
    ) async throws(ServerConnectionError) -> String? {
        var call = call
        call.expectedStatuses = [408]
        if known != nil { receive(.listening) }
        return try await perform(call) { reply throws(ServerConnectionError) in
            if reply.response.status.code == 408 { return known }
            let signal: ChangeSignal = try reply.message(of: .changes)
            receive(.signal(signal))
            return signal.lastEventID ?? known
        }
    }
}

/// Reads a stream of server-sent events (HTML Living Standard, "Interpreting an event stream"), as far as this server
/// uses them.
final class EventStreamReader: Sendable {
    /// A longer line is not from this server.
    private static let maximumLine = 65_536

    private struct State {
        var line: [UInt8] = []
        var isSkipping = false
        var data = ""
        var isSignal = false
        var id: String?
        var lastEventID: String?
        var signals: [ListenedSignal] = []
    }

    private let state: Mutex<State>
    private let receive: @Sendable (ListenedSignal) -> Void

    init(after known: String?, _ receive: @escaping @Sendable (ListenedSignal) -> Void) {
        state = Mutex(State(lastEventID: known))
        self.receive = receive
    }

    /// The id of the last complete event.
    var lastEventID: String? { state.withLock { $0.lastEventID } }

    /// Reads the next bytes, which may end anywhere.
    func read(_ bytes: some Sequence<UInt8>) {
        let signals = state.withLock { state in
            for byte in bytes {
                switch byte {
                case 10:
                    if !state.isSkipping { Self.interpret(&state) }
                    state.line = []
                    state.isSkipping = false
                case 13: break
                default:
                    if state.line.count < Self.maximumLine { state.line.append(byte) } else { state.isSkipping = true }
                }
            }
            defer { state.signals = [] }
            return state.signals
        }
        for signal in signals { receive(signal) }
    }

    private static func interpret(_ state: inout State) {
        let line = String(decoding: state.line, as: UTF8.self)
        guard !line.isEmpty else { return dispatch(&state) }
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count == 2 ? String(parts[1].first == " " ? parts[1].dropFirst() : parts[1]) : ""
        switch parts[0] {
        // The server's greeting, or a heartbeat.
        case "": state.signals.append(.listening)
        case "event": state.isSignal = ChangeSignal.Event(rawValue: value) != nil
        case "data": state.data += value
        case "id": state.id = value
        default: break
        }
    }

    private static func dispatch(_ state: inout State) {
        defer {
            state.data = ""
            state.isSignal = false
        }
        if let id = state.id { state.lastEventID = id }
        guard state.isSignal, let signal = try? JSONDecoder().decode(ChangeSignal.self, from: Data(state.data.utf8))
        else { return }
        state.signals.append(.signal(signal))
    }
}
