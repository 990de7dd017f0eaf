import HTTPTransport

extension Reply {
    /// Whether a success in reply to a DELETE says that something was deleted: the providers reply with 204, and some servers
    /// with another success without a body.
    ///
    /// A success with a body is the page of a proxy or of a captive portal. If not, the next attempt finds nothing.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` for a success of another kind.
    func confirmDeletion() throws(CloudStorageError) {
        guard status == 204 || status >= 300 || body.isEmpty else {
            throw .unavailable(detail: "status \(status) with a body after a deletion")
        }
    }
}
