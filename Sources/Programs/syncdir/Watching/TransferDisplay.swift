import Foundation
import SyncClient

/// A progress bar for the current file, shown on a terminal and only for transfers that take a while.
struct TransferDisplay {
    private static let patience: TimeInterval = 0.5
    private static let width = 24

    /// Draws until the task is cancelled.
    static func run(_ directory: OpenDirectory) async {
        guard Output.isTerminal else { return }
        var current: (file: FileUUID, since: Date, isDrawn: Bool)?
        for await transfer in directory.server.progress() {
            let now = Date()
            if current?.file != transfer.fileUUID {
                if current?.isDrawn == true { Output.draw("") }
                current = (transfer.fileUUID, now, false)
            }
            guard let since = current?.since, now.timeIntervalSince(since) > patience else { continue }
            let isDone = transfer.totalBytes.map { transfer.completedBytes >= $0 } ?? false
            if isDone, current?.isDrawn == true { Output.draw("") }
            guard !isDone else { continue }
            let path = await directory.synchronizer.path(of: transfer.fileUUID) ?? transfer.fileUUID.rawValue
            Output.draw(line(transfer, path))
            current?.isDrawn = true
        }
    }

    /// Such as `↑ [######------------------]  25 %  12.5 MB  photos/a.jpg`.
    static func line(_ transfer: FileTransfer, _ path: String) -> String {
        let arrow = transfer.direction == .upload ? "↑" : "↓"
        let megabytes = Double(transfer.completedBytes) / 1e6
        let amount = String(format: "%.1f MB", megabytes)
        guard let total = transfer.totalBytes, total > 0 else {
            return "\(arrow) \(amount)  \(Output.printable(path))"
        }
        let fraction = min(1, max(0, Double(transfer.completedBytes) / Double(total)))
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: width - filled)
        return "\(arrow) [\(bar)] \(String(format: "%3.0f", fraction * 100)) %  \(amount)  \(Output.printable(path))"
    }
}
