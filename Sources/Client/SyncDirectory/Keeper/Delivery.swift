package import Foundation
package import SyncProtocol

/// A change by others to apply to the directory.
package struct Delivery: Sendable, Hashable {
    /// The kinds of changes.
    package enum Kind: Sendable, Hashable {
        /// New contents, at this URL outside the directory; they are copied.
        case contents(URL)
        /// Only the text is new.
        case description
        /// The file was deleted.
        case deletion
    }

    package var fileUUID: FileUUID
    package var kind: Kind
    /// The file's text; nil if it has none, or it is unknown.
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

/// The outcome of a delivery.
package enum DeliveryOutcome: Sendable, Hashable {
    /// The directory reflects the change, or already did.
    case done
    /// The contents are not available locally, and must be requested: the file was deleted locally, or its record was
    /// lost.
    case needsContents
}
