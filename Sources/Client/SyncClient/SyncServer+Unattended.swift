import Foundation
import Logging

// Transfers that continued while no process of the app was running.
extension SyncServer {
    /// Takes over a transfer that an earlier process started and that ended while no process was waiting for it, such
    /// as one of a background session. Its result is used when its turn comes, and is not transferred again.
    ///
    /// A transfer that failed, or that is no longer needed, is forgotten; its file is removed.
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
