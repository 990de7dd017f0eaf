import SyncEngine
import SyncProtocol

/// Describes a transfer, as text that the system keeps with it after the process has ended.
enum TransferLabel: Equatable {
    /// An upload of contents as these versions.
    case upload(FileUUID, FileVersion, AppMetaDataVersion?)
    /// A download of contents of these versions.
    case download(FileUUID, FileVersion, AppMetaDataVersion?)

    /// The text.
    var text: String {
        switch self {
        case .upload(let file, let version, let text): Self.text("up", file, version, text)
        case .download(let file, let version, let text): Self.text("down", file, version, text)
        }
    }

    private static func text(
        _ direction: String, _ file: FileUUID, _ version: FileVersion, _ text: AppMetaDataVersion?
    ) -> String {
        "\(direction) \(file.rawValue) \(version.rawValue) \(text.map { String($0.rawValue) } ?? "-")"
    }

    /// Parses a label; nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 4, let file = FileUUID(String(parts[1])), let version = Int32(parts[2]),
            parts[3] == "-" || Int32(parts[3]) != nil
        else { return nil }
        let textVersion = Int32(parts[3]).map { AppMetaDataVersion($0) }
        switch parts[0] {
        case "up": self = .upload(file, FileVersion(version), textVersion)
        case "down": self = .download(file, FileVersion(version), textVersion)
        default: return nil
        }
    }
}
