import HTTPTransport

/// The hosts for uploads and downloads, under addresses that Graph hands out and that are themselves the authorization.
enum ContentHost {
    /// Classifies a reply to a download. An address that is no longer accepted is requested again.
    static func classify(_ reply: Reply) -> ReplyVerdict {
        switch reply.status {
        case 200..<300: .answer
        case 401, 403, 404, 408, 410, 423, 429, 500...:
            .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status) from a download's address")
        case 507: .failure(.quotaExceeded)
        default: .failure(.rejected(code: "\(reply.status) from a download's address"))
        }
    }

    /// `url` if it is one of Microsoft's: a person's files go nowhere else, whatever a reply says.
    static func checked(_ url: String) throws(CloudStorageError) -> String {
        guard ExternalService.microsoft.owns(url) else { throw .rejected(code: "bytes at a foreign address") }
        return url
    }
}
