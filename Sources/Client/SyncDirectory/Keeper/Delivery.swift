package import Foundation
package import SyncProtocol

/// A change by others that the directory is to show.
package struct Delivery: Sendable, Hashable {
    /// What became of the file.
    package enum Kind: Sendable, Hashable {
        /// New contents, at that place outside the directory; they are copied.
        case contents(URL)
        /// Only the text is new.
        case description
        /// The file was deleted.
        case deletion
    }

    package var fileUUID: FileUUID
    package var kind: Kind
    /// The text with the file; nil if it has none, or it is not known.
    package var appMetaData: String?
    package var mimeType: MIMEType?
    /// When the contents were uploaded, by the server's clock.
    package var updateDate: Date?

    package init(
        fileUUID: FileUUID, kind: Kind, appMetaData: String? = nil, mimeType: MIMEType? = nil, updateDate: Date? = nil
    ) {
        self.fileUUID = fileUUID
        self.kind = kind
        self.appMetaData = appMetaData
        self.mimeType = mimeType
        self.updateDate = updateDate
    }

    var description: FileDescription? { appMetaData.flatMap { FileDescription(appMetaData: $0) } }
}

/// What a delivery came to.
package enum DeliveryOutcome: Sendable, Hashable {
    /// The directory shows it, or had it already.
    case done
    /// The contents are not here, and must be asked for: the file was deleted here, or its record was lost.
    case needsContents
}
