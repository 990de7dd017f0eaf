internal import CCurl

extension CurlError {
    /// Maps a `CURLcode` to an error (libcurl-errors(3)).
    ///
    /// - Parameter sentBytes: bytes of the request that libcurl passed to the connection.
    init(_ code: CURLcode, message: String, sentBytes: Int) {
        switch code {
        // libcurl uses these two for replies as well: a header of more than 100 KB, and bytes that are not HTTP. The
        // server may have carried out the request then.
        case CURLE_OUT_OF_MEMORY where sentBytes > 0, CURLE_UNSUPPORTED_PROTOCOL where sentBytes > 0:
            self = .interrupted(code: code.rawValue, message: message)

        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            self = .outOfMemory

        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNKNOWN_OPTION,
            CURLE_NOT_BUILT_IN:
            self = .invalidRequest(reason: "libcurl code \(code.rawValue)")

        // OpenSSL found no fault: the connection broke during the handshake, as when a load balancer restarts.
        case CURLE_SSL_CONNECT_ERROR where !message.contains("error:") || message.contains("unexpected eof"):
            self = .notSent(code: code.rawValue, message: message)

        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            self = .tls(code: code.rawValue, message: message)

        case _ where sentBytes == 0:
            self = .notSent(code: code.rawValue, message: message)

        case CURLE_OPERATION_TIMEDOUT:
            // Both share one code; only the text from libcurl's lib/speedcheck.c distinguishes them.
            self = message.hasPrefix("Operation too slow") ? .tooSlow(message: message) : .timedOut(message: message)

        case CURLE_PARTIAL_FILE:
            self = .partial(message: message)

        default:
            self = .interrupted(code: code.rawValue, message: message)
        }
    }

    /// The error of a transfer that has ended with `code`.
    ///
    /// - Parameters:
    ///   - errorText: the text in CURLOPT_ERRORBUFFER(3).
    ///   - mayHaveBeenSent: whether the server may have seen the request although libcurl counted none of its bytes.
    init(
        _ code: CURLcode, of handle: UnsafeMutableRawPointer, _ errorText: UnsafeMutableBufferPointer<CChar>,
        mayHaveBeenSent: Bool = false
    ) {
        let written = unsafe errorText.baseAddress.map { unsafe String(cString: $0) } ?? ""
        let message = written.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : written
        // Bytes of head and body that libcurl passed to the connection (CURLINFO_REQUEST_SIZE(3)).
        var headBytes = 0
        var bodyBytes: curl_off_t = 0
        _ = unsafe shim_curl_getinfo_long(handle, CURLINFO_REQUEST_SIZE, &headBytes)
        _ = unsafe shim_curl_getinfo_offset(handle, CURLINFO_SIZE_UPLOAD_T, &bodyBytes)
        self.init(code, message: message, sentBytes: max(headBytes + Int(bodyBytes), mayHaveBeenSent ? 1 : 0))
    }
}
