internal import CCurl
internal import Glibc
internal import Posix
internal import Synchronization

/// Performs any number of transfers concurrently, on one thread that sleeps while nothing arrives (curl_multi_poll(3)).
///
/// The thread exists while there are transfers, and for another half minute, during which their connections stay open
/// for the next ones. Transfers still in progress when the loop is released are cancelled.
public final class TransferLoop: Sendable {
    private let orders: TransferOrders

    /// - Parameter maximumConnections: the maximum number of connections kept for further transfers.
    public init(maximumConnections: Int) {
        CurlLibrary.initializeOnce()
        orders = TransferOrders(maximumConnections: maximumConnections)
    }

    deinit { orders.close() }

    /// Begins a transfer; its receiver learns of its end, even if the transfer cannot begin.
    public func start(_ transfer: Transfer, _ receiver: any TransferReceiver) { orders.add(transfer, receiver) }

    /// Ends a transfer with ``CurlError/cancelled``, at any stage, within milliseconds; does nothing if it has ended.
    public func cancel(_ receiver: any TransferReceiver) { orders.cancel(receiver) }
}

/// Orders for the loop's thread, which wakes up for them.
private final class TransferOrders: Sendable {
    struct Batch: Sendable {
        var begun: [(Transfer, any TransferReceiver)] = []
        /// Retained until then, so that no other object has the same identity.
        var cancelled: [any TransferReceiver] = []
        var isClosed = false
    }

    private struct State {
        var batch = Batch()
        /// The thread's handle, to wake it up; nil if there is no thread.
        var multi: MultiHandle?
        var hasThread = false
    }

    private let state = Mutex(State())
    private let maximumConnections: Int

    init(maximumConnections: Int) { self.maximumConnections = maximumConnections }

    func add(_ transfer: Transfer, _ receiver: any TransferReceiver) {
        let needsThread = state.withLock { state in
            state.batch.begun.append((transfer, receiver))
            state.multi?.wakeUp()
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if needsThread { startThread() }
    }

    func cancel(_ receiver: any TransferReceiver) {
        state.withLock { state in
            state.batch.cancelled.append(receiver)
            state.multi?.wakeUp()
        }
    }

    func close() {
        state.withLock { state in
            state.batch.isClosed = true
            state.multi?.wakeUp()
        }
    }

    private func startThread() {
        do {
            try WorkerThread(name: "transfers", stackBytes: 1 << 20) { [self] in
                guard var runner = TransferRunner(maximumConnections: maximumConnections) else { return fail() }
                state.withLock { [multi = runner.multi] in $0.multi = multi }
                runner.run(orders: self)
            }.detach()
        } catch {
            fail()
        }
    }

    /// Ends all transfers that were begun, because there is no memory for a thread or its handle.
    private func fail() {
        let batch = state.withLock { state in
            defer { state = State() }
            return state.batch
        }
        for (_, receiver) in batch.begun { receiver.end(.failure(.outOfMemory)) }
    }

    /// The orders since the last call; nil if there are none, and the thread may end.
    func take(isIdle: Bool) -> Batch? {
        state.withLock { state in
            if isIdle, state.batch.begun.isEmpty {
                (state.multi, state.hasThread) = (nil, false)
                state.batch.cancelled = []
                return nil
            }
            defer { state.batch = Batch(isClosed: state.batch.isClosed) }
            return state.batch
        }
    }
}

/// libcurl's handle for concurrent transfers.
///
/// Sendable for one purpose: curl_multi_wakeup(3) may be called from any thread while the handle exists.
@safe
private struct MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    func wakeUp() { unsafe curl_multi_wakeup(pointer) }
}

/// The transfers in progress, on the loop's thread.
private struct TransferRunner: ~Copyable {
    /// How long connections are kept once nothing is in progress.
    private static let longestRest: Duration = .seconds(30)

    let multi: MultiHandle
    private var running: [RunningTransfer] = []

    /// Nil if there is no memory.
    init?(maximumConnections: Int) {
        guard let pointer = unsafe curl_multi_init() else { return nil }
        _ = unsafe shim_curl_multi_setopt_long(pointer, CURLMOPT_MAXCONNECTS, maximumConnections)
        multi = unsafe MultiHandle(pointer: pointer)
    }

    deinit {
        precondition(running.isEmpty, "a transfer's receiver was not informed of its end")
        _ = unsafe curl_multi_cleanup(multi.pointer)
    }

    /// Runs until no transfer is in progress, and none has begun for a while.
    mutating func run(orders: TransferOrders) {
        Self.ignoreBrokenPipes()
        var restEnd = ContinuousClock.now + Self.longestRest
        var isClosed = false
        while let batch = orders.take(isIdle: running.isEmpty && (isClosed || restEnd <= .now)) {
            isClosed = batch.isClosed
            for (transfer, receiver) in batch.begun { begin(transfer, receiver) }
            for receiver in batch.cancelled { cancel { $0.receiver === receiver } }
            if isClosed { cancel { _ in true } }
            var count: CInt = 0
            unsafe curl_multi_perform(multi.pointer, &count)
            endFinished()
            endOverdue()
            if !running.isEmpty { restEnd = .now + Self.longestRest }
            if !isClosed { wait(until: running.map(\.deadline).min() ?? restEnd) }
        }
    }

    /// A connection that the server has closed is an error of the transfer, not a signal that ends the process.
    private static func ignoreBrokenPipes() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private mutating func begin(_ transfer: Transfer, _ receiver: any TransferReceiver) {
        do throws(CurlError) {
            let begun = try RunningTransfer(transfer, receiver)
            guard unsafe curl_multi_add_handle(multi.pointer, begun.handle) == CURLM_OK else { throw .outOfMemory }
            running.append(begun)
        } catch {
            receiver.end(.failure(error))
        }
    }

    private mutating func endFinished() {
        var left: CInt = 0
        while let message = unsafe curl_multi_info_read(multi.pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            // The message does not outlive the removal of its handle (curl_multi_info_read(3)).
            let code = unsafe message.pointee.data.result
            let handle = unsafe message.pointee.easy_handle
            guard let index = running.firstIndex(where: { unsafe $0.handle == handle }) else { continue }
            end(at: index) { $0.result(code) }
        }
    }

    private mutating func endOverdue() {
        let now = ContinuousClock.now
        while let index = running.firstIndex(where: { $0.deadline <= now }) { end(at: index) { $0.overdueResult } }
    }

    private mutating func cancel(where isMeant: (RunningTransfer) -> Bool) {
        while let index = running.firstIndex(where: isMeant) { end(at: index) { _ in .failure(.cancelled) } }
    }

    private mutating func end(at index: Int, _ result: (RunningTransfer) -> Result<Void, CurlError>) {
        let ended = running.remove(at: index)
        let result = result(ended)
        _ = unsafe curl_multi_remove_handle(multi.pointer, ended.handle)
        ended.receiver.end(result)
    }

    /// Sleeps until something arrives, libcurl has something to do, or there are orders; at most until the given moment.
    private func wait(until deadline: ContinuousClock.Instant) {
        let milliseconds = (deadline - .now) / .milliseconds(1)
        let timeout = CInt(min(max(milliseconds.rounded(.up), 0), 3_600_000))
        unsafe curl_multi_poll(multi.pointer, nil, 0, timeout, nil)
    }
}
