import CCurl

/// Distinguishes addresses of the public Internet from all others: this machine's, this network's, and those that
/// represent one of them in another form.
///
/// By the IANA Special-Purpose Address Registries (RFC 6890, as of 2026); an address counts as public only if it is
/// globally reachable as a server's destination. In IPv6 nothing outside 2000::/3 is public.
public enum PublicAddresses {
    /// Whether an address, in network order, is public.
    /// - Parameter bytes: 4 for IPv4 or 16 for IPv6; any other number is not public.
    public static func contains(_ bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes)
        switch bytes.count {
        case 4: return !specialIPv4.contains { $0.matches(bytes) }
        case 16: return isPublicIPv6(bytes)
        default: return false
        }
    }

    /// Addresses with the same first bits.
    private struct Block {
        let prefix: [UInt8]
        let bits: Int

        init(_ prefix: [UInt8], _ bits: Int) {
            self.prefix = prefix
            self.bits = bits
        }

        func matches(_ address: [UInt8]) -> Bool {
            var rest = bits
            for (expected, byte) in zip(prefix, address) where rest > 0 {
                let mask = rest >= 8 ? UInt8.max : ~(UInt8.max >> UInt8(rest))
                guard expected & mask == byte & mask else { return false }
                rest -= 8
            }
            return true
        }
    }

    private static let specialIPv4 = [
        Block([0, 0, 0, 0], 8),  // "this network"; 0.0.0.0 connects to this machine
        Block([10, 0, 0, 0], 8),  // private (RFC 1918)
        Block([100, 64, 0, 0], 10),  // shared by a carrier's customers (RFC 6598); some clouds' metadata
        Block([127, 0, 0, 0], 8),  // loopback
        Block([168, 63, 129, 16], 32),  // Azure's platform, from inside a virtual machine
        Block([169, 254, 0, 0], 16),  // link-local, and the metadata of most clouds
        Block([172, 16, 0, 0], 12),  // private
        Block([192, 0, 0, 0], 24),  // IETF protocol assignments; some clouds' metadata
        Block([192, 0, 2, 0], 24),  // documentation
        Block([192, 31, 196, 0], 24),  // AS112
        Block([192, 52, 193, 0], 24),  // AMT
        Block([192, 88, 99, 0], 24),  // relays of 6to4, deprecated
        Block([192, 168, 0, 0], 16),  // private
        Block([192, 175, 48, 0], 24),  // AS112
        Block([198, 18, 0, 0], 15),  // benchmarks
        Block([198, 51, 100, 0], 24),  // documentation
        Block([203, 0, 113, 0], 24),  // documentation
        Block([224, 0, 0, 0], 4),  // multicast
        Block([240, 0, 0, 0], 4),  // reserved, and broadcast
    ]

    /// Parts of 2000::/3 that are not public. Addresses that embed an IPv4 address (6to4, Teredo) are rejected
    /// entirely: no server needs them.
    private static let specialIPv6 = [
        Block([0x20, 0x01, 0x00], 23),  // IETF protocol assignments: Teredo, benchmarks, ORCHID
        Block([0x20, 0x01, 0x0D, 0xB8], 32),  // documentation
        Block([0x20, 0x02], 16),  // 6to4
        Block([0x26, 0x20, 0x00, 0x4F, 0x80], 48),  // AS112
        Block([0x3F, 0xFF, 0x00], 20),  // documentation (RFC 9637)
    ]

    /// Everything outside 2000::/3 is special or unassigned: `::`, `::1`, IPv4-compatible and IPv4-mapped
    /// (`::ffff:0:0/96`), both prefixes of NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`), discard-only, unique local (the
    /// metadata service `fd00:ec2::254` among them), link-local, site-local, segment routing, multicast.
    ///
    /// A network may have its own NAT64 prefix within 2000::/3, which no list can know (RFC 6052, section 2.2): there,
    /// the operator's firewall has to keep the translator from private addresses, as section 5.3 demands.
    private static func isPublicIPv6(_ bytes: [UInt8]) -> Bool {
        bytes[0] & 0xE0 == 0x20 && !specialIPv6.contains { $0.matches(bytes) }
            // ISATAP (RFC 5214, section 6.1) embeds an IPv4 address behind any prefix.
            && !([0, 2].contains(bytes[8]) && bytes[9...11].elementsEqual([0, 0x5E, 0xFE]))
    }
}

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
    /// Lets `connectionGuard` accept or reject each address, right before libcurl connects to it
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
