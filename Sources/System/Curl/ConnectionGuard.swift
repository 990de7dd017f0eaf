internal import CCurl

/// Decides, for the duration of one transfer, which addresses libcurl may connect to.
struct ConnectionGuard {
    let reach: Request.Reach
    /// Set once an address was rejected.
    private(set) var hasRefused = false
    /// Set once an address was allowed.
    private(set) var hasAllowed = false

    init(reach: Request.Reach) { self.reach = reach }

    /// Whether libcurl may connect to this address; the bytes are in network order.
    mutating func allows(_ address: [UInt8]) -> Bool {
        let isAllowed = reach == .anywhere || PublicAddresses.contains(address)
        if isAllowed { hasAllowed = true } else { hasRefused = true }
        return isAllowed
    }
}

extension OptionSetter {
    /// Lets `connectionGuard` decide about each address, right before libcurl connects to it
    /// (CURLOPT_OPENSOCKETFUNCTION(3)); it must remain valid until the transfer has ended.
    mutating func setGuard(_ connectionGuard: UnsafeMutablePointer<ConnectionGuard>) {
        unsafe set(CURLOPT_OPENSOCKETDATA, pointer: connectionGuard)
        unsafe setOpenSocket { context, _, address in
            guard let context = unsafe context, let address = unsafe address else { return shim_curl_no_socket() }
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe shim_curl_ip_address(address, &bytes)
            let octets = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
            let isAllowed = unsafe context.assumingMemoryBound(to: ConnectionGuard.self).pointee.allows(octets)
            return isAllowed ? unsafe shim_curl_socket(address) : shim_curl_no_socket()
        }
    }
}
