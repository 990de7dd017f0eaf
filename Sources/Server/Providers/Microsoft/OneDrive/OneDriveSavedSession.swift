import SyncProtocol

/// An upload session as recorded between two requests.
struct OneDriveSavedSession: Codable {
    /// Secret: it authorizes its holder to write.
    var url: String
    /// The name that the item will have.
    var name: String
    /// In OneDrive's format; `nil` if it does not matter.
    var expirationDateTime: String?

    init(url: String, name: String, expirationDateTime: String? = nil) {
        self.url = url
        self.name = name
        self.expirationDateTime = expirationDateTime
    }

    init(_ text: String) throws(CloudStorageError) {
        self = try ProviderJSON.decode(Self.self, Array(text.utf8))
    }

    var text: String {
        get throws(CloudStorageError) { String(decoding: try ProviderJSON.encode(self), as: UTF8.self) }
    }

    var expires: WireDate? { expirationDateTime.flatMap(WireDate.init(internetText:)) }
}
