internal import CCurl

/// A `curl_slist`, freed in `deinit`.
@safe
struct HeaderList: ~Copyable {
    /// First node; nil if the list is empty. libcurl reads it during the transfer and does not copy it.
    private(set) var head: UnsafeMutablePointer<curl_slist>?

    init() { unsafe head = nil }

    /// The headers of a request, and lines that suppress those that libcurl would add.
    init(of request: Request) throws(CurlError) {
        self.init()
        for (name, value) in request.headers {
            // "Name:" would remove the header; with a semicolon it is sent without a value (CURLOPT_HTTPHEADER(3)).
            try append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        // "Name:" suppresses what libcurl would add: a wait for "100 Continue", and a form's content type.
        if !request.hasHeader("Expect") { try append("Expect:") }
        if !request.hasHeader("Content-Type") { try append("Content-Type:") }
    }

    deinit { unsafe curl_slist_free_all(head) }

    /// Adds a copy of `text` at the end.
    mutating func append(_ text: String) throws(CurlError) {
        // On failure the old list is unchanged (curl_slist_append(3)).
        guard let longer = unsafe curl_slist_append(head, text) else { throw .outOfMemory }
        unsafe head = unsafe longer
    }
}
