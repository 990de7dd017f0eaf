import HTTPTransport

extension Reply {
    /// Checks that a success in reply to DELETE means that something was deleted: providers reply with 204, and some
    /// servers with another success without a body.
    ///
    /// A success with a body is the page of a proxy or captive portal. If it was genuine after all, the next attempt
    /// finds nothing to delete.
    /// - Throws: ``CloudStorageError/unavailable(detail:)`` for any other success.
    func confirmDeletion() throws(CloudStorageError) {
        guard status == 204 || status >= 300 || body.isEmpty else {
            throw .unavailable(detail: "status \(status) with a body in reply to a deletion")
        }
    }
}
