import Foundation
import SyncClient

/// The progress of all transfers in one line, shown on a terminal and only for transfers that take a while.
struct TransferDisplay {
    /// The minimum time between two updates of the line, in seconds.
    private static let pause: TimeInterval = 0.2

    /// Draws until the task is cancelled.
    static func run(_ directory: OpenDirectory) async {
        let tally = Tally()
        await withTaskGroup { group in
            group.addTask {
                for await status in directory.server.status() {
                    let sizes = await directory.synchronizer.bytesToSend
                    if await tally.note(status, sizes: sizes, at: Date()) { Output.draw("") }
                }
            }
            group.addTask {
                var drawn = Date.distantPast
                for await transfer in directory.server.progress() {
                    let now = Date()
                    await tally.note(transfer, at: now)
                    guard now.timeIntervalSince(drawn) >= pause else { continue }
                    let path = await directory.synchronizer.path(of: transfer.fileUUID) ?? ""
                    guard let line = await tally.line(path, at: now, width: Output.terminalWidth) else { continue }
                    Output.draw(line)
                    drawn = now
                }
            }
        }
    }

    private actor Tally {
        private var tally = TransferTally()

        func note(_ status: SyncStatus, sizes: [FileUUID: Int64], at now: Date) -> Bool {
            tally.note(status, sizes: sizes, at: now)
        }

        func note(_ transfer: FileTransfer, at now: Date) { tally.note(transfer, at: now) }

        func line(_ path: String, at now: Date, width: Int) -> String? { tally.line(path, at: now, width: width) }
    }
}

/// The progress of the transfers in one direction since they began.
struct TransferTally {
    /// The duration of transfers after which they are shown, in seconds.
    private static let patience: TimeInterval = 0.5

    private var direction = FileTransfer.Direction.upload
    private var begin: Date?
    private var done = 0
    private var total = 0
    /// The sizes of files that will be transferred, as far as they are known.
    private var expected: [FileUUID: Int64] = [:]
    private var completed: [FileUUID: Int64] = [:]

    /// Records the library's current activity.
    /// - Returns: Whether transfers have ended, so that the line must be cleared.
    mutating func note(_ status: SyncStatus, sizes: [FileUUID: Int64], at now: Date) -> Bool {
        switch status {
        case .uploading(let done, let total):
            enter(.upload, now)
            (self.done, self.total) = (done, total)
            expected.merge(sizes) { $1 }
        case .downloading(let done, let total):
            enter(.download, now)
            (self.done, self.total) = (done, total)
        case .idle, .checking, .blocked:
            guard begin != nil else { return false }
            self = TransferTally()
            return true
        }
        return false
    }

    /// Records the progress of one file.
    mutating func note(_ transfer: FileTransfer, at now: Date) {
        enter(transfer.direction, now)
        completed[transfer.fileUUID] = transfer.completedBytes
        if let bytes = transfer.totalBytes { expected[transfer.fileUUID] = bytes }
    }

    private mutating func enter(_ direction: FileTransfer.Direction, _ now: Date) {
        if begin == nil || self.direction != direction {
            self = TransferTally()
            self.direction = direction
            begin = now
        }
    }

    /// Such as `↑ 3 of 12 files, 12.5 of 48.0 MB, 1.2 MB/s, 30 s left, photos/a.jpg`; nil if it is too early.
    ///
    /// The remaining time is shown only if the sizes of all files are known.
    func line(_ path: String, at now: Date, width: Int) -> String? {
        guard let begin, case let seconds = now.timeIntervalSince(begin), seconds > Self.patience else { return nil }
        let bytes = completed.values.reduce(0, +)
        let all = expected.values.reduce(0, +)
        let isAllKnown = expected.count >= total && all >= bytes
        let rate = Double(bytes) / seconds
        var parts: [String] = []
        if total > 0 { parts.append("\(done) of \(total) files") }
        parts.append(isAllKnown ? "\(Output.amount(bytes)) of \(Output.amount(all))" : Output.amount(bytes))
        parts.append("\(Output.amount(Int64(rate)))/s")
        if isAllKnown, rate > 0 { parts.append("\(Self.duration(Double(all - bytes) / rate)) left") }
        parts.append(Output.printable(path))
        let line = (direction == .upload ? "↑ " : "↓ ") + parts.joined(separator: ", ")
        // A longer line would not be cleared as a whole.
        return line.count < width ? line : String(line.prefix(max(0, width - 2))) + "…"
    }

    /// Such as `30 s`, `5 min` or `1 h 20 min`.
    private static func duration(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 359_999).rounded(.up))
        if whole < 100 { return "\(whole) s" }
        let minutes = (whole + 59) / 60
        return minutes < 60 ? "\(minutes) min" : "\(minutes / 60) h \(minutes % 60) min"
    }
}
