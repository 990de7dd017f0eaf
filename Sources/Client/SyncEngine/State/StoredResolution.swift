/// The app's answer to a conflict, kept until the delivery.
package struct StoredResolution: Sendable, Equatable {
    /// The answer.
    package enum Answer: Sendable, Equatable {
        case content(ContentDownloadResolution)
        case deletion(DownloadDeletionResolution)
    }

    /// The answer.
    package let answer: Answer
    /// The latest item that existed when the app was asked: the answer does not cover later items.
    package let lastItem: RowID<UploadItem>

    /// Creates a resolution.
    package init(_ answer: Answer, lastItem: RowID<UploadItem>) {
        self.answer = answer
        self.lastItem = lastItem
    }

    /// The stored form: a word, and the id of the latest item.
    package var text: String {
        let word =
            switch answer {
            case .content(.acceptContentDownload): "accept"
            case .content(.rejectContentDownload(let kept)): "reject\(kept.rawValue)"
            case .deletion(.acceptDownloadDeletion): "acceptDeletion"
            case .deletion(.rejectDownloadDeletion(.keepContentUpload)): "keepUpload"
            case .deletion(.rejectDownloadDeletion(.removeContentUpload)): "removeUpload"
            }
        return "\(word) \(lastItem.rawValue)"
    }

    /// Parses the stored form; nil for any other text.
    package init?(text: String) {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let number = Int64(parts[1]) else { return nil }
        lastItem = RowID(number)
        switch parts[0] {
        case "accept": answer = .content(.acceptContentDownload)
        case "acceptDeletion": answer = .deletion(.acceptDownloadDeletion)
        case "keepUpload": answer = .deletion(.rejectDownloadDeletion(.keepContentUpload))
        case "removeUpload": answer = .deletion(.rejectDownloadDeletion(.removeContentUpload))
        default:
            guard parts[0].hasPrefix("reject"), let bits = Int(parts[0].dropFirst(6)), (0...3).contains(bits) else {
                return nil
            }
            answer = .content(.rejectContentDownload(UploadResolution(rawValue: bits)))
        }
    }
}
