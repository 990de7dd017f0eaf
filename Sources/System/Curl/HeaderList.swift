internal import CCurl

/// A `curl_slist`, freed in `deinit`.
@safe
struct HeaderList: ~Copyable {
    /// First node; nil if the list is empty. libcurl reads it during the transfer and does not copy it.
    private(set) var head: UnsafeMutablePointer<curl_slist>?

    init() { unsafe head = nil }

    deinit { unsafe curl_slist_free_all(head) }

    /// Adds a copy of `text` at the end.
    mutating func append(_ text: String) throws(CurlError) {
        // On failure the old list is unchanged (curl_slist_append(3)).
        guard let longer = unsafe curl_slist_append(head, text) else { throw .outOfMemory }
        unsafe head = unsafe longer
    }
}
