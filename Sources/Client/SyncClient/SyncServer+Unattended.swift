import Foundation
import Logging

// Transfers that continued while no process of the app was running.
extension SyncServer {
    /// Accepts a transfer that an earlier process started and that ended while no process was waiting for it, such as a
    /// background session's. The library uses its result when its turn comes, and does not transfer the file again.
    ///
    /// If the transfer failed, or is no longer needed, discards it and removes its file.
    /// - Throws: `storeError`; `fileManagerError`.
    public func take(_ transfer: UnattendedTransfer) async throws(SyncError) {
        defer { if let file = transfer.file { try? FileManager.default.removeItem(at: file) } }
        guard let label = transfer.label.flatMap(TransferLabel.init), case .success(let reply) = transfer.result else {
            return
        }
        switch label {
        case .upload(let file, let version, let textVersion):
            guard case .success(let staged)? = try? await ServerConnection.uploadOutcome(of: reply) else { return }
            try driver.change { machine throws(SyncError) in
                let actions = machine.noteStaged(
                    file, version, textVersion, committedAs: staged.committedMasterVersion)
                return ((), actions)
            }
        case .download(let file, let version, let textVersion):
            guard let bytes = transfer.file,
                case .success(let downloaded)? = try? await ServerConnection.downloadOutcome(of: reply, in: bytes),
                !downloaded.lacksAppMetaData
            else { return }
            let location = try driver.files.move(bytes)
            do throws(SyncError) {
                try driver.change { machine throws(SyncError) in
                    let arrived = ServerReply.FileDownload(
                        location: location, appMetaData: downloaded.appMetaData,
                        cloudStorageType: downloaded.cloudStorageType, contentsChanged: downloaded.contentsChanged)
                    return ((), machine.keepDownload(arrived, of: file, version, textVersion, at: driver.now))
                }
            } catch {
                driver.files.remove(location)
                throw error
            }
        }
    }
}
